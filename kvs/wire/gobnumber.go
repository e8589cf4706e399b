package wire

import (
	"encoding/binary"
	"math/bits"
)

// Gob writes an unsigned number below 128 as one byte; of others, the first byte
// is the negative of how many follow, the number's own, the highest first.

// maxGobNumber is how many bytes a number takes at most.
const maxGobNumber = 9

// gobMore is how many bytes of a number follow its first.
func gobMore(first byte) int {
	if first < 0x80 {
		return 0
	}
	return -int(int8(first))
}

// gobUint reads a number and returns how many bytes it takes: 0 when b breaks
// off, -1 when it is none.
func gobUint(b []byte) (number uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return gobLongUint(b)
}

// gobLongUint is gobUint but for one byte; apart, so that gobUint is inlined.
func gobLongUint(b []byte) (number uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	switch n = 1 + gobMore(b[0]); {
	case n > maxGobNumber:
		return 0, -1
	case n > len(b):
		return 0, 0
	}
	for _, digit := range b[1:n] {
		number = number<<8 | uint64(digit)
	}
	return number, n
}

func appendGobUint(b []byte, number uint64) []byte {
	if number < 0x80 {
		return append(b, byte(number))
	}
	var wide [8]byte
	binary.BigEndian.PutUint64(wide[:], number)
	n := (bits.Len64(number) + 7) / 8
	return append(append(b, byte(-n)), wide[8-n:]...)
}
