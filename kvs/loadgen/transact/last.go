package transact

import (
	"cmp"
	"iter"
	"slices"
)

// Write is a write of a committed attempt.
type Write struct {
	Key     uint32 // its number
	Version uint32 // of its worker's writes; 0 is a Delete
	Order   uint64 // a later write of the key has a greater one; 0 if the store tells none
	Attempt int    // in the round
}

// Last yields each key of some writes of a round, which are in the order of the attempts, with
// the writes any of which may be the last one, the lowest version first. Without an order these
// are the last ones of all attempts. It sorts the writes.
func Last(writes []Write) iter.Seq2[uint32, []Write] {
	slices.SortStableFunc(writes, func(a, b Write) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Order, b.Order))
	})
	return func(yield func(uint32, []Write) bool) {
		for rest := writes; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n].Key == rest[0].Key {
				n++
			}
			all := rest[:n]
			rest = rest[n:]
			kept := all[:0]
			for i, w := range all {
				if i+1 == n || w.Order == 0 && all[i+1].Attempt != w.Attempt {
					kept = append(kept, w)
				}
			}
			slices.SortFunc(kept, func(a, b Write) int { return cmp.Compare(a.Version, b.Version) })
			if !yield(kept[0].Key, kept) {
				return
			}
		}
	}
}
