#include "textflag.h"

// func Lines(addresses []uintptr)
TEXT ·Lines(SB), NOSPLIT, $0-24
	MOVQ addresses_base+0(FP), SI
	MOVQ addresses_len+8(FP), CX
	TESTQ CX, CX
	JZ   done

next:
	MOVQ (SI), AX
	PREFETCHT0 (AX)
	ADDQ $8, SI
	DECQ CX
	JNZ  next

done:
	RET
