#include "textflag.h"

// func lines(addresses *uintptr, n int)
TEXT ·lines(SB), NOSPLIT, $0-16
	MOVD addresses+0(FP), R0
	MOVD n+8(FP), R1
	ADD  R1<<3, R0, R1
next:
	CMP  R0, R1
	BEQ  done
	MOVD.P 8(R0), R2
	PRFM (R2), PLDL1KEEP
	B    next
done:
	RET
