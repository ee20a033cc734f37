#include "textflag.h"

// func memory() uintptr
TEXT ·memory(SB), NOSPLIT, $0-8
	MOVD g, R0
	MOVD R0, ret+0(FP)
	RET

// func word(offset uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-16
	MOVD offset+0(FP), R1
	ADD  g, R1, R1
	MOVD (R1), R0
	MOVD R0, ret+8(FP)
	RET
