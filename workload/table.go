package workload

import (
	"math"
	"math/bits"
)

// table draws ranks from a distribution: first a segment by Vose's alias method (M. D.
// Vose, "A Linear Algorithm for Generating Random Numbers with a Given Distribution",
// IEEE TSE 17(9), 1991), then a rank inside the segment.
//
// The error of a segment's mass is at most 1e-7 of the mass plus 2^-32 of a column. The latter
// is 10^-13 or less with 4,000 segments. Rarer ranks, such as far ranks with a theta of 5, are
// never drawn. The table assumes that the mass of a rank falls linearly inside a segment. For
// theta up to 1.2 the error of this assumption is at most 2e-6 of the mass.
type table struct {
	columns  []column
	segments []segment
}

// column i holds segment i below the threshold, and segment alias above it.
type column struct {
	threshold uint32 // in 2^-32
	alias     uint32
}

// segment is a range of consecutive ranks. Its linear fall is a mixture: a share of the
// draws takes the lower of two uniform ranks, the others take one uniform rank. Rank j of
// w is the lower of two with probability (2(w-j)-1)/w^2.
type segment struct {
	first, width uint64
	slope        uint32 // share of draws that take the lower of two ranks, in 2^-32
}

func newTable(d distribution) table {
	cuts := d.cuts()
	segments := make([]segment, len(cuts)-1)
	weights := make([]uint64, len(segments))
	for i := range segments {
		from, to := cuts[i], cuts[i+1]
		segments[i] = segment{first: from, width: to - from, slope: slope(d, from, to)}
		weights[i] = weight(d.mass(from, to))
	}
	return table{aliasColumns(weights), segments}
}

// pick returns the segment that a random word selects, and a fraction of the word that
// is practically independent of the segment.
func (t *table) pick(word uint64) (s *segment, fraction uint64) {
	at, fraction := bits.Mul64(word, uint64(len(t.columns)))
	c := t.columns[at]
	own := below(fraction>>32, uint64(c.threshold))
	return &t.segments[uint64(c.alias)^(at^uint64(c.alias))&own], fraction
}

// sloped reports whether the draw with this fraction takes the lower of two ranks.
func (s *segment) sloped(fraction uint64) bool { return uint32(fraction) < s.slope }

// weight returns a mass in whole units of 2^-48. It first rounds the mass to float32:
// functions such as math.Pow may differ between architectures in the last bits of a
// float64, but hardly ever in the 24 bits of a float32. All later arithmetic is on
// integers, so machines draw the same operations. One of 3,000 plans differed between
// builds with and without fused multiply-add, and none between amd64 and 386. If two
// machines differ, their digests differ too.
func weight(mass float64) uint64 {
	return uint64(math.Round(math.Ldexp(float64(float32(mass)), 48)))
}

// slope returns the share of draws that take the lower of two ranks. With that share the
// masses of the segment's first and last rank differ as in the distribution. slope rounds
// to 20 bits for the same reason as weight.
func slope(d distribution, from, to uint64) uint32 {
	if to-from < 2 {
		return 0
	}
	first, last := d.mass(from, from+1), d.mass(to-1, to)
	if first <= last { // level, or both too small for a float64
		return 0
	}
	w := float64(to - from)
	share := min(1, (first-last)/(first+last)*w/(w-1))
	return uint32(min(math.Round(math.Ldexp(share, 20)), 1<<20-1)) << 12
}

// aliasColumns returns an alias table in which segment i has the probability
// weights[i] / sum of weights. A weight times the number of segments fits 64 bits: the
// sum of weights is at most 2^48, and MaxRecords takes 14,000 segments.
func aliasColumns(weights []uint64) []column {
	n := uint64(len(weights))
	columns := make([]column, n)
	left := make([]uint64, n) // the rest of weight i times n; a full column holds the sum of weights
	sum := uint64(0)
	for _, w := range weights {
		sum += w
	}
	var under, over []int
	for i, w := range weights {
		left[i] = w * n
		columns[i].alias = uint32(i)
		if left[i] < sum {
			under = append(under, i)
		} else {
			over = append(over, i)
		}
	}
	for len(under) > 0 && len(over) > 0 {
		u, o := under[len(under)-1], over[len(over)-1]
		under = under[:len(under)-1]
		columns[u] = column{fraction32(left[u], sum), uint32(o)}
		left[o] -= sum - left[u]
		if left[o] < sum {
			over = over[:len(over)-1]
			under = append(under, o)
		}
	}
	return columns
}

// fraction32 returns part/whole in 2^-32, for part < whole.
func fraction32(part, whole uint64) uint32 {
	q, _ := bits.Div64(part>>32, part<<32, whole)
	return uint32(q)
}
