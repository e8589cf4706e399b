package workload

import (
	"iter"
	"math/bits"
	"slices"
)

// KnownRanks is the maximum number of records that Popular yields. For the other records
// a mean is enough: each is too rare to matter, and they are many.
const KnownRanks = 1 << 20

// Popular yields the ids of the most popular records, the most popular first, and their
// shares of all operations, in 2^-48. The shares are means over a segment of the
// sampler's table, inside which they fall by at most theta/512. They are integers, so
// results computed from them do not depend on a machine's rounding. It yields none if
// inserted records become the most popular ones.
func (p *Plan) Popular() iter.Seq2[uint64, uint64] {
	switch {
	case p.follows || p.replay != nil:
		return func(func(id, share uint64) bool) {}
	case p.law.hashed:
		return p.popularHashed
	case p.Moves():
		return p.PopularAt(slices.Repeat([]float64{1}, int(p.moving.places)))
	}
	return p.popularSegments
}

func (p *Plan) popularSegments(yield func(id, share uint64) bool) {
	cuts := p.distribution.cuts()
	for i, from := range cuts[:len(cuts)-1] {
		to := cuts[i+1]
		share := p.popularity(p.distribution.mass(from, to), to-from)
		for rank := from; rank < to; rank++ {
			if rank == KnownRanks || !yield(p.Key(rank), share) {
				return
			}
		}
	}
}

func (p *Plan) popularHashed(yield func(id, share uint64) bool) {
	r := p.ranking()
	for rank := range min(KnownRanks, p.config.Records) {
		if !yield(r.id(rank), p.popularity(r.mass(rank), 1)) {
			return
		}
	}
}

// popularity returns the share of each of n records with a mass together, in 2^-48.
func (p *Plan) popularity(mass float64, n uint64) uint64 {
	return coarse(weight(p.drawing()*mass) / n)
}

// coarse keeps the first 16 bits of a share. The weights of one plan in 3,000 differ in
// their 24th bit between machines that compute a power differently. Clients on such
// machines would send some keys to different servers. The first 16 bits differ in one plan
// in a million.
func coarse(share uint64) uint64 {
	drop := max(bits.Len64(share), 16) - 16
	return share >> drop << drop
}

// Sample returns popularity ranks of records, counted from 0, in rising order. Counted from
// 1, it takes at most each ranks from every range [1, 2), [2, 4), [4, 8), ... up to the
// last rank. It splits a larger range into each equal parts, and the secret selects one
// rank of every part.
func (p *Plan) Sample(secret uint64, each int) (ranks []uint64) {
	return sample(secret, each, p.config.Records)
}

// SampleSpots returns the numbers of the audited keys that are read in the window, in rising
// order. It draws up to mostSpots, half of them from the first spotsHead, which are the most
// popular keys of a Sample.
func SampleSpots(secret uint64, keys int) (numbers []uint32) {
	for i := range min(mostSpots, keys) {
		from := keys
		if i%2 == 0 {
			from = min(spotsHead, keys)
		}
		number, _ := bits.Mul64(Child(secret, spotsBranch+uint64(i)), uint64(from))
		numbers = append(numbers, uint32(number))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// SpotShare returns the share of the window before the spots are read, 0.25 to 0.75.
func SpotShare(secret uint64) float64 {
	return 0.25 + float64(Child(secret, spotsBranch+mostSpots))/(1<<65)
}

// The spots are few, because they are no operations of the workload.
const (
	mostSpots   = 64
	spotsHead   = 256
	spotsBranch = 1 << 48 // a branch of the secret; sample takes the branches below it
)

// The sample of the inserted records: at most insertsEach of each range, of the records
// that a run can insert.
const (
	insertsEach = 768
	mostInserts = 1 << 32
)

// SampleInserts returns the ids of records that are inserted if the run lasts long enough.
// It selects them as Sample does, by their numbers in place of ranks. It returns none if the
// workload does not insert.
func (p *Plan) SampleInserts(secret uint64) (ids []uint64) {
	if p.Share(Insert) == 0 {
		return nil
	}
	ids = sample(secret, insertsEach, mostInserts)
	for i := range ids {
		ids[i] += p.config.Records
	}
	return ids
}

// sample selects numbers below total as Sample selects ranks.
func sample(secret uint64, each int, total uint64) (numbers []uint64) {
	n := uint64(each)
	for first := uint64(0); first < total; first = 2*first + 1 {
		size := min(first+1, total-first)
		for i := range min(n, size) {
			if size <= n {
				numbers = append(numbers, first+i)
				continue
			}
			from, to := size*i/n, size*(i+1)/n
			offset, _ := bits.Mul64(Child(secret, first+from), to-from)
			numbers = append(numbers, first+from+offset)
		}
	}
	return numbers
}
