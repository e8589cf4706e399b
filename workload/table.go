package workload

import (
	"math"
	"math/bits"
)

// table draws ranks from a law: first a segment by Vose's alias method (M. D.
// Vose, "A Linear Algorithm for Generating Random Numbers with a Given
// Distribution", IEEE TSE 17(9), 1991), then a rank inside it.
//
// A segment's mass is right to 1e-7 of itself and 2^-32 of a column, which is
// 10^-13 or less with 4,000 segments: what is rarer, as far ranks are when theta
// is 5, never comes. Inside a segment the mass of a rank is taken to fall
// linearly; for theta up to 1.2 that is right to 2e-6 of itself.
type table struct {
	columns  []column
	segments []segment
}

// column i holds the segment i below the threshold and the segment alias above.
type column struct {
	threshold uint32 // in 2^-32
	alias     uint32
}

// segment is a stretch of neighbouring ranks. Its linear fall is a mixture: a
// share of draws takes the lower of two uniform ranks, of which rank j of w is
// the lower with probability (2(w-j)-1)/w^2, and the others take one.
type segment struct {
	first, width uint64
	slope        uint32 // share of draws that take the lower of two, in 2^-32
}

func newTable(l distribution) table {
	cuts := l.cuts()
	segments := make([]segment, len(cuts)-1)
	weights := make([]uint64, len(segments))
	for i := range segments {
		from, to := cuts[i], cuts[i+1]
		segments[i] = segment{first: from, width: to - from, slope: slope(l, from, to)}
		weights[i] = weight(l.mass(from, to))
	}
	return table{aliasColumns(weights), segments}
}

// pick returns the segment that a random word stands for, and a fraction of the
// word's own that is as good as independent of that.
func (t *table) pick(word uint64) (s *segment, fraction uint64) {
	at, fraction := bits.Mul64(word, uint64(len(t.columns)))
	c := t.columns[at]
	own := below(fraction>>32, uint64(c.threshold))
	return &t.segments[uint64(c.alias)^(at^uint64(c.alias))&own], fraction
}

// sloped says whether the draw whose word had this fraction takes the lower of two.
func (s *segment) sloped(fraction uint64) bool { return uint32(fraction) < s.slope }

// weight turns a mass into a whole number of 2^-48. The rounding to float32
// comes first: math.Pow and its like may differ in the last bits of a float64
// from one architecture to another, but the 24 bits kept here hardly ever do. All
// that follows is integer arithmetic, so machines draw the same operations. Of
// 3,000 plans one differed between builds with and without fused multiply-add,
// none between amd64 and 386; should two machines differ, their digests tell.
func weight(mass float64) uint64 {
	return uint64(math.Round(math.Ldexp(float64(float32(mass)), 48)))
}

// slope returns the share of draws that take the lower of two ranks so that the
// segment's first and last rank differ as they do in the law. It is rounded to
// 20 bits for the same reason as a weight.
func slope(l distribution, from, to uint64) uint32 {
	if to-from < 2 {
		return 0
	}
	first, last := l.mass(from, from+1), l.mass(to-1, to)
	if first <= last { // level, or both too small for a float64
		return 0
	}
	w := float64(to - from)
	share := min(1, (first-last)/(first+last)*w/(w-1))
	return uint32(min(math.Round(math.Ldexp(share, 20)), 1<<20-1)) << 12
}

// aliasColumns builds an alias table in which segment i has the probability
// weights[i] / sum of weights. Weights times their number fit 64 bits: at most
// 2^48 in all, and 14,000 segments for MaxRecords.
func aliasColumns(weights []uint64) []column {
	n := uint64(len(weights))
	columns := make([]column, n)
	left := make([]uint64, n) // of weight i times n; a full column holds the sum of weights
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
