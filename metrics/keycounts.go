package metrics

import (
	"encoding/binary"
	"errors"
	"slices"
)

// KeyCounts are the numbers of sampled operations on some keys: all keys, or one in
// 2^Bits, selected by a hash. A key's number is its hash without the Bits highest bits,
// which are 0: the next 40 bits.
type KeyCounts struct {
	Of     uint64 `json:"of"` // sampled operations on all keys
	Bits   uint   `json:"bits"`
	Packed []byte `json:"packed"` // for each key, in rising order: its number minus the one before, and its count, as varints
}

const keyBits = 40

// Number returns the number of the key with a hash; false if the key is not counted.
func (k KeyCounts) Number(hash uint64) (number uint64, counted bool) {
	return hash << k.Bits >> (64 - keyBits), hash>>(64-k.Bits) == 0
}

// PackKeyCounts returns the counts of keys, given by their hashes, of a number of operations.
func PackKeyCounts(of uint64, bits uint, counts map[uint64]uint32) *KeyCounts {
	k := &KeyCounts{Of: of, Bits: bits}
	byNumber := make(map[uint64]uint64)
	var numbers []uint64
	for hash, n := range counts {
		number, _ := k.Number(hash)
		if byNumber[number] == 0 {
			numbers = append(numbers, number)
		}
		byNumber[number] += uint64(n)
	}
	slices.Sort(numbers)
	last := uint64(0)
	for _, number := range numbers {
		k.Packed = binary.AppendUvarint(k.Packed, number-last)
		k.Packed = binary.AppendUvarint(k.Packed, byNumber[number])
		last = number
	}
	return k
}

// Counts returns the counts by the keys' numbers.
func (k KeyCounts) Counts() (map[uint64]uint64, error) {
	counts := make(map[uint64]uint64)
	number := uint64(0)
	for rest := k.Packed; len(rest) > 0; {
		step, n := binary.Uvarint(rest)
		count, m := binary.Uvarint(rest[max(n, 0):])
		if n <= 0 || m <= 0 {
			return nil, errors.New("the counts of keys are not in their form")
		}
		number += step
		counts[number] = count
		rest = rest[n+m:]
	}
	return counts, nil
}
