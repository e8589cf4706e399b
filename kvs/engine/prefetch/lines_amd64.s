#include "textflag.h"

// func lines(addresses *uintptr, n int)
TEXT ·lines(SB), NOSPLIT, $0-16
	MOVQ addresses+0(FP), AX
	MOVQ n+8(FP), CX
	LEAQ (AX)(CX*8), CX
next:
	CMPQ AX, CX
	JEQ  done
	MOVQ (AX), DX
	PREFETCHT0 (DX)
	ADDQ $8, AX
	JMP  next
done:
	RET
