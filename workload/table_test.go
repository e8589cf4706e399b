package workload

import (
	"math"
	"testing"
)

// columnShares reads the probability of each segment off an alias table.
func columnShares(columns []column) []float64 {
	shares := make([]float64, len(columns))
	for i, c := range columns {
		own := math.Ldexp(float64(c.threshold), -32)
		shares[i] += own / float64(len(columns))
		shares[c.alias] += (1 - own) / float64(len(columns))
	}
	return shares
}

// TestTableHasTheDistributionsMasses allows each segment what float32, 2^-48 and the
// 32-bit threshold of its column round away.
func TestTableHasTheDistributionsMasses(t *testing.T) {
	t.Parallel()
	for name, l := range testDistributions() {
		t.Run(name, func(t *testing.T) {
			table := newTable(l)
			shares := columnShares(table.columns)
			lost := math.Ldexp(1, -32)/float64(len(table.columns)) + math.Ldexp(1, -48)
			at := uint64(0)
			for i, s := range table.segments {
				if s.first != at || s.width == 0 {
					t.Fatalf("segment %d is %d ranks from %d, want it from %d", i, s.width, s.first, at)
				}
				at += s.width
				mass := l.mass(s.first, at)
				if math.Abs(shares[i]-mass) > 1e-7*mass+lost {
					t.Errorf("segment %d, ranks from %d: probability %v, want %v", i, s.first, shares[i], mass)
				}
			}
			if cuts := l.cuts(); at != cuts[len(cuts)-1] {
				t.Errorf("segments end at rank %d, want %d", at, cuts[len(cuts)-1])
			}
		})
	}
}

// TestRanksInsideASegment compares the linear fall with the distribution, rank by rank.
func TestRanksInsideASegment(t *testing.T) {
	t.Parallel()
	for _, theta := range zipfThetas {
		for name, l := range map[string]distribution{"exact": newZipf(100_000, theta), "ycsb": newYCSBZipf(100_000, theta)} {
			worst := 0.0
			for _, s := range newTable(l).segments {
				mass, w := l.mass(s.first, s.first+s.width), float64(s.width)
				lower := math.Ldexp(float64(s.slope), -32)
				for j := range s.width {
					share := (1-lower)/w + lower*(2*(w-float64(j))-1)/(w*w)
					want := l.mass(s.first+j, s.first+j+1)
					worst = max(worst, math.Abs(share*mass/want-1))
				}
			}
			t.Logf("%s theta %v: off by %.2g at worst", name, theta, worst)
			if worst > 2e-6 {
				t.Errorf("%s theta %v: a rank is off by %.2g of its mass, want 2e-6 at most", name, theta, worst)
			}
		}
	}
}

func TestAliasColumns(t *testing.T) {
	for name, weights := range map[string][]uint64{
		"one":         {7},
		"two":         {1, 3},
		"equal":       {5, 5, 5, 5},
		"with zeroes": {0, 0, 9, 0, 1},
		"steep":       {1 << 48, 1 << 20, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			sum := 0.0
			for _, w := range weights {
				sum += float64(w)
			}
			for i, got := range columnShares(aliasColumns(weights)) {
				if want := float64(weights[i]) / sum; math.Abs(got-want) > 1e-9 {
					t.Errorf("weight %d has probability %v, want %v", i, got, want)
				}
			}
		})
	}
}
