#include "textflag.h"

// Entry point i loads i and goes on in the closure slotFuncs[i]. R12 and R13 hold
// no argument, DX is the closure of a func value's code.

#define S1(n) PCALIGN $16; MOVL $(n), R12; JMP enter;
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
	LEAQ ·slotFuncs(SB), R13
	MOVQ (R13)(R12*8), DX
	MOVQ (DX), R13
	JMP  R13

// func slotBase() uintptr
TEXT ·slotBase(SB), NOSPLIT, $0-8
	LEAQ ·slotCode(SB), AX
	MOVQ AX, ret+0(FP)
	RET
