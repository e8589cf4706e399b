package slab

import "math/bits"

// A block is a piece of an arena, named by its size class (8 bits) and its
// place in words of 8 bytes from the arena's start (40 bits). No block is 0.
type block uint64

const (
	placeBits = 40
	blockBits = placeBits + 8
)

func blockAt(class int, place uint64) block { return block(class)<<placeBits | block(place) }

func (b block) class() int    { return int(b>>placeBits) & 0xff }
func (b block) place() uint64 { return uint64(b) & (1<<placeBits - 1) }

// Size classes 1 to 32 are blocks of that many words. Above there are 16 classes to
// each doubling, as in a floating-point number of 5 digits, so that less than
// 1/16 of a block is lost.
const (
	exactBits = 5
	steps     = 1 << (exactBits - 1)
	classes   = 226 // the last holds the largest record
)

// classOf returns the class of the smallest blocks that hold size bytes, which
// must be at least 1.
func classOf(size int) int {
	words := (size + 7) / 8
	shift := max(0, bits.Len(uint(words-1))-exactBits)
	return shift*steps + (words+1<<shift-1)>>shift
}

// wordsOf returns the size of a class's blocks in words.
func wordsOf(class int) int {
	shift := max(0, (class-1)/steps-1)
	return (class - shift*steps) << shift
}
