package size

import (
	"math"
	"math/bits"

	"kvlab/workload"
)

// Sizes are the sizes of all records by a law. They are immutable and safe for concurrent
// use.
type Sizes struct {
	Least, Most int // in bytes
	seed        uint64
	table       *[2][points]uint32 // the quantiles of both halves; nil for one size
}

// The table has a quantile at 2^stepBits points of each octave of the distance from the
// nearer end of the law, in 2^-fractionBits of a byte. Between the points it is linear.
const (
	octaves      = 31
	stepBits     = 7
	points       = octaves<<stepBits + 1
	fractionBits = 11
	// nearest is the least distance in 2^-64: a draw that is nearer to an end, one in
	// 2^31, is taken as this one.
	nearest = 1 << (63 - octaves)
)

// Values returns the sizes of a run's values.
func (l Law) Values(seed uint64) *Sizes {
	if l.ETC {
		return newSizes(LeastValue, MostValue, 0, seed, etcValue)
	}
	return newSizes(l.Least, l.Most, 0, seed, l.uniform)
}

// Keys returns the sizes of a run's keys.
func (l Law) Keys(seed uint64) *Sizes {
	if l.ETC {
		return newSizes(1, MostKey, 1, seed, etcKey)
	}
	return newSizes(l.Least, l.Most, 1, seed, l.uniform)
}

// newSizes tabulates a law: the number, rounded down, that a share of the sizes exceed.
func newSizes(least, most int, kind, seed uint64, exceededBy func(share float64) float64) *Sizes {
	s := &Sizes{Least: least, Most: most, seed: workload.Child(workload.Child(seed, workload.SizeBranch), kind)}
	if least == most {
		return s
	}
	s.table = new([2][points]uint32)
	for side := range s.table {
		for i := range s.table[side] {
			share := math.Ldexp(float64(pointAt(i)), -64)
			if side == 1 {
				share = 1 - share
			}
			size := min(max(exceededBy(share), float64(least)), float64(most+1)-1./(1<<fractionBits))
			s.table[side][i] = uint32(size * (1 << fractionBits))
		}
	}
	return s
}

// pointAt returns the distance of the table's point i from the nearer end, in 2^-64.
func pointAt(i int) uint64 {
	return (1<<stepBits + uint64(i)&(1<<stepBits-1)) << (63 - octaves - stepBits + i>>stepBits)
}

// At returns the size that belongs to a key with a hash.
func (s *Sizes) At(hash uint64) int {
	if s.table == nil {
		return s.Least
	}
	return s.quantile(workload.Child(s.seed, hash))
}

// Constant returns the one size of all records; -1 if sizes differ.
func (s *Sizes) Constant() int {
	if s.table == nil {
		return s.Least
	}
	return -1
}

// quantile returns the size that a share of all sizes, in 2^-64, exceeds.
func (s *Sizes) quantile(share uint64) int {
	side := share >> 63
	distance := max(share^-side, nearest)
	digits := bits.Len64(distance)
	fraction := distance << (65 - digits) // without the first digit
	i := (digits-64+octaves)<<stepBits | int(fraction>>(64-stepBits))
	below, above := int64(s.table[side][i]), int64(s.table[side][i+1])
	return int((below<<24 + (above-below)*int64(fraction<<stepBits>>40)) >> (24 + fractionBits))
}

// Moments returns the mean of the sizes, and the mean of their squares.
func (s *Sizes) Moments() (mean, square float64) {
	if s.table == nil {
		return float64(s.Least), float64(s.Least) * float64(s.Least)
	}
	const parts = 16 // of the way from one point to the next
	for i := range points - 1 {
		from, to := pointAt(i), pointAt(i+1)
		weight := math.Ldexp(float64(to-from), -64) / parts
		for k := range uint64(parts) {
			distance := from + (to-from)/(2*parts)*(2*k+1)
			for _, share := range [...]uint64{distance, ^distance} {
				size := float64(s.quantile(share))
				mean, square = mean+weight*size, square+weight*size*size
			}
		}
	}
	return mean, square
}

func (l Law) uniform(share float64) float64 {
	return float64(l.Least) + (1-share)*float64(l.Most+1-l.Least)
}

// Facebook's ETC, its largest and most varied pool of memcached servers (B. Atikoglu, Y.
// Xu, E. Frachtenberg, S. Jiang and M. Paleczny, "Workload Analysis of a Large-Scale
// Key-Value Store", SIGMETRICS 2012, pages 53 to 64), as mutilate draws it
// (github.com/leverich/mutilate, d65c6ef, Generator.cc: createFacebookKey and
// createFacebookValue).

// etcKey returns the key size above which a share of ETC's keys lies, by a generalized extreme
// value law. To round it down rounds the size to the nearest.
func etcKey(share float64) float64 {
	const location, scale, shape = 30.7984, 8.20449, 0.078688
	return location + scale*(math.Pow(-math.Log(1-share), -shape)-1)/shape + 0.5
}

// etcShort is the share of the values that have 0 to 14 bytes: the sum of mutilate's
// table. A value here has at least LeastValue bytes, so their sizes do not matter.
const etcShort = 0.44155

// etcValue returns the value size above which a share of ETC's values lies: sizes of 15 bytes
// and more have a generalized Pareto law.
func etcValue(share float64) float64 {
	const location, scale, shape = 15, 214.476, 0.348238
	if share >= 1-etcShort {
		return 0
	}
	return location + scale*(math.Pow(share/(1-etcShort), -shape)-1)/shape
}
