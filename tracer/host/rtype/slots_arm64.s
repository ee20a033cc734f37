#include "textflag.h"

// Entry point i loads i and goes on in the closure slotFuncs[i]. R16 and R17 hold
// no argument, R26 is the closure of a func value's code.

#define S1(n) MOVD $(n), R16; B enter;
#define S4(n) S1((n)) S1((n)+1) S1((n)+2) S1((n)+3)
#define S16(n) S4((n)) S4((n)+4) S4((n)+8) S4((n)+12)
#define S64(n) S16((n)) S16((n)+16) S16((n)+32) S16((n)+48)
#define S256(n) S64((n)) S64((n)+64) S64((n)+128) S64((n)+192)
#define S1024(n) S256((n)) S256((n)+256) S256((n)+512) S256((n)+768)

// func slotCode()
TEXT ·slotCode(SB), NOSPLIT|NOFRAME, $0-0
	S1024(0)
	S1024(1024)
	S1024(2048)
	S1024(3072)
	S1024(4096)
	S1024(5120)
	S1024(6144)
	S1024(7168)
enter:
	MOVD $·slotFuncs(SB), R17
	MOVD (R17)(R16<<3), R26
	MOVD (R26), R17
	JMP  (R17)

// func slotBase() uintptr
TEXT ·slotBase(SB), NOSPLIT, $0-8
	MOVD $·slotCode(SB), R0
	MOVD R0, ret+0(FP)
	RET
