package route

import (
	"iter"
	"strconv"

	"kvlab/workload"
)

// Keys makes the keys of records. A key is the prefix and the record's id in decimal.
type Keys struct {
	Prefix string
	Digits int // the least number of digits of an id, filled up with leading zeros
}

// NewKeys returns the keys of a workload's records.
func NewKeys(c workload.Config, prefix string) Keys { return Keys{Prefix: prefix, Digits: c.Digits()} }

// Append appends the key of a record to dst, and returns it with its Hash.
func (k *Keys) Append(dst []byte, id uint64) (key []byte, hash uint64) {
	var digits [20]byte
	text := strconv.AppendUint(digits[:0], id, 10)
	key = append(dst, k.Prefix...)
	for range k.Digits - len(text) {
		key = append(key, '0')
	}
	key = append(key, text...)
	return key, Hash(key[len(dst):])
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
