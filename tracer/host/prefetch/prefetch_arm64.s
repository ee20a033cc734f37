#include "textflag.h"

// func Lines(addresses []uintptr)
TEXT ·Lines(SB), NOSPLIT, $0-24
	MOVD addresses_base+0(FP), R0
	MOVD addresses_len+8(FP), R1
	CBZ  R1, done

next:
	MOVD.P 8(R0), R2
	PRFM   (R2), PLDL1KEEP
	SUB    $1, R1, R1
	CBNZ   R1, next

done:
	RET
