package workload

import (
	"iter"
	"math/bits"
)

// Segment is a stretch of neighbouring popularity ranks whose records are about
// equally popular.
type Segment struct {
	First, Width uint64 // the ranks First, ..., First+Width-1
	Weight       uint64 // the share of all operations that they get together, in 2^-48
}

// Segments returns all ranks in segments, the most popular first. Inside a
// segment the popularity of a record falls by theta/512 of itself at most, or
// not at all. The weights are those that the sampler draws by: whole numbers, so
// that what is computed from them depends on no machine's rounding.
func (p *Plan) Segments() iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		cuts := p.distribution.cuts()
		for i, from := range cuts[:len(cuts)-1] {
			to := cuts[i+1]
			if !yield(Segment{from, to - from, weight(p.distribution.mass(from, to))}) {
				return
			}
		}
	}
}

// KnownRanks is how many of the most popular records Popular yields at most. What
// the others do is well enough known as a mean: each is too rare to matter, and
// their number evens them out.
const KnownRanks = 1 << 20

// Popular yields the ids of the most popular records, the first one first, with
// their shares of all operations in 1/2^48.
func (p *Plan) Popular() iter.Seq2[uint64, uint64] {
	return func(yield func(id, share uint64) bool) {
		for s := range p.Segments() {
			share := coarse(s.Weight / s.Width)
			for rank := s.First; rank < s.First+s.Width; rank++ {
				if rank == KnownRanks || !yield(p.Key(rank), share) {
					return
				}
			}
		}
	}
}

// coarse keeps the first 16 bits of a share. The weights of one plan in 3,000
// differ in their 24th bit between machines that compute a power differently:
// clients on such machines would look for some keys on different servers. Of the
// bits kept here, they differ in one plan in a million.
func coarse(share uint64) uint64 {
	drop := max(bits.Len64(share), 16) - 16
	return share >> drop << drop
}
