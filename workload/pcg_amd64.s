#include "textflag.h"

// func words(l *lanes, pairs *[2]uint64, groups int)
//
// Z0 and Z1 are the high and low halves of eight states. A product of two words is
// made of those of their halves.
TEXT ·words(SB), NOSPLIT, $0-24
	MOVQ l+0(FP), SI
	MOVQ pairs+8(FP), DI
	MOVQ groups+16(FP), CX
	VMOVDQU64 (SI), Z0
	VMOVDQU64 64(SI), Z1
	VPBROADCASTQ 128(SI), Z16      // factorHi
	VPBROADCASTQ 136(SI), Z17      // factorLo
	VPSRLQ $32, Z17, Z18           // its high half
	VPBROADCASTQ 144(SI), Z19      // addendHi
	VPBROADCASTQ 152(SI), Z20      // addendLo
	VPBROADCASTQ 160(SI), Z21      // cheap
	VPTERNLOGD $0xff, Z22, Z22, Z22
	VPSRLQ $63, Z22, Z23           // 1
	VPSRLQ $32, Z22, Z22           // a mask of low halves
	MOVL $0x5555, AX
	KMOVW AX, K2                   // and one for moves

group:
	VPSRLQ $32, Z0, Z2             // pcg.word
	VPXORQ Z0, Z2, Z2
	VPMULLQ Z21, Z2, Z2
	VPSRLQ $48, Z2, Z3
	VPXORQ Z2, Z3, Z2
	VPORQ Z23, Z1, Z3
	VPMULLQ Z3, Z2, Z2
	VMOVDQU64 Z2, (DI)
	ADDQ $64, DI
	DECQ CX
	JZ done

	VPSRLQ $32, Z1, Z4             // pcg.times
	VPMULUDQ Z17, Z1, Z5           // low by low
	VPMULUDQ Z18, Z1, Z6           // low by high
	VPMULUDQ Z17, Z4, Z7           // high by low
	VPMULUDQ Z18, Z4, Z8           // high by high
	VPMULLQ Z17, Z0, Z9
	VPMULLQ Z16, Z1, Z10
	VPSRLQ $32, Z5, Z11
	VPADDQ Z11, Z6, Z6
	VPANDQ Z22, Z6, Z11
	VPADDQ Z11, Z7, Z7             // the product's third quarter comes below its second
	VPSRLQ $32, Z6, Z6
	VPSRLQ $32, Z7, Z11
	VPADDQ Z6, Z8, Z8
	VPADDQ Z11, Z8, Z8
	VPADDQ Z9, Z10, Z9
	VPADDQ Z8, Z9, Z0
	VPADDQ Z19, Z0, Z0
	VPSLLQ $32, Z7, Z1
	VMOVDQA32 Z5, K2, Z1
	VPADDQ Z20, Z1, Z1
	VPCMPUQ $1, Z20, Z1, K1        // it is less than what was added: carry
	VPADDQ Z23, Z0, K1, Z0
	JMP group

done:
	VMOVDQU64 Z0, (SI)
	VMOVDQU64 Z1, 64(SI)
	VZEROUPPER
	RET
