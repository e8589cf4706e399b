package route

import (
	"iter"
	"strconv"

	"kvlab/workload"
	"kvlab/workload/size"
)

// Keys makes the keys of records. A key is the prefix, the record's id in decimal, and
// hyphens up to the size that the hash of these two draws, or a trace has, if they are not longer.
type Keys struct {
	Prefix string
	Digits int                    // the least number of digits of an id, filled up with leading zeros
	Sizes  *size.Sizes            // nil for keys without hyphens, and for those of a trace
	length func(id uint64) int    // of a trace's keys; nil without one
	text   func(id uint64) []byte // the keys of a trace that take the ids' place; nil without
}

// NewKeys returns the keys of a workload's records.
func NewKeys(c workload.Config, prefix string, sizes size.Law) Keys {
	k := Keys{Prefix: prefix, Digits: c.Digits()}
	if sizes != (size.Law{}) {
		k.Sizes = sizes.Keys(c.Seed)
	} else {
		k.length, k.text = c.KeyLengths(), c.KeyTexts()
	}
	return k
}

// Append appends the key of a record to dst, and returns it with its Hash.
func (k *Keys) Append(dst []byte, id uint64) (key []byte, hash uint64) {
	if k.text != nil {
		key = append(append(dst, k.Prefix...), k.text(id)...)
		return key, Hash(key[len(dst):])
	}
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], id, 10)
	key = append(dst, k.Prefix...)
	for range k.Digits - len(text) {
		key = append(key, '0')
	}
	key = append(key, text...)
	hash = Hash(key[len(dst):])
	want := 0
	switch {
	case k.Sizes != nil:
		want = k.Sizes.At(hash)
	case k.length != nil:
		want = k.length(id)
	default:
		return key, hash
	}
	for missing := want - (len(key) - len(dst)); missing > 0; missing-- {
		key, hash = append(key, '-'), HashByte(hash, '-')
	}
	return key, hash
}

// Popularity returns the Popularity of records, given their ids and shares.
func (k *Keys) Popularity(records iter.Seq2[uint64, uint64]) Popularity {
	return func(yield func(hash, share uint64) bool) {
		var key []byte
		for id, share := range records {
			var hash uint64
			if key, hash = k.Append(key[:0], id); !yield(hash, share) {
				return
			}
		}
	}
}
