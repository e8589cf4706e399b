package workload

import (
	"fmt"
	"math"
	"testing"
)

var zipfThetas = []float64{0.5, 0.9, 0.99, 1, 1.2}

// slowSum adds k^-theta for k = from+1, ..., to one by one, with Kahan's
// compensation.
func slowSum(from, to uint64, theta float64) float64 {
	sum, lost := 0.0, 0.0
	for k := from + 1; k <= to; k++ {
		y := math.Pow(float64(k), -theta) - lost
		next := sum + y
		lost = next - sum - y
		sum = next
	}
	return sum
}

func closeTo(got, want, relative float64) bool {
	return math.Abs(got-want) <= relative*math.Abs(want)
}

func TestPowerSumIsTheSum(t *testing.T) {
	spans := []struct{ from, to uint64 }{
		{0, 1}, {0, 2}, {0, 1000}, {0, 4096}, {4095, 4097}, {4096, 4097}, {100, 5000},
		{5000, 5009}, {99_999, 100_000}, {0, 200_000}, {999_000, 1_000_000},
	}
	for _, theta := range append([]float64{0.01, 2, 5}, zipfThetas...) {
		for _, s := range spans {
			got, want := powerSum(s.from, s.to, theta), slowSum(s.from, s.to, theta)
			if !closeTo(got, want, 1e-13) {
				t.Errorf("powerSum(%d, %d, %v) = %v, want %v", s.from, s.to, theta, got, want)
			}
		}
	}
}

// TestPublishedFigures holds the distributions against numbers from elsewhere: the zeta
// of 10^6 records that labs and YCSB print, and the shares of the first ranks.
func TestPublishedFigures(t *testing.T) {
	exact, ycsb := newZipf(1e6, 0.99), newYCSBZipf(1e6, 0.99)
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"zeta", exact.zeta, 15.3918},
		{"exact rank 0", exact.mass(0, 1), 0.06497},
		{"exact rank 1", exact.mass(1, 2), 0.03271},
		{"exact rank 2", exact.mass(2, 3), 0.02190},
		{"exact first 1000", exact.mass(0, 1000), 0.5022},
		{"ycsb rank 0", ycsb.mass(0, 1), 0.06497},
		{"ycsb rank 1", ycsb.mass(1, 2), 0.03271},
		{"ycsb rank 2", ycsb.mass(2, 3), 0.02614},
		{"ycsb first 1000", ycsb.mass(0, 1000), 0.5103},
	} {
		if !closeTo(f.got, f.want, 3e-4) {
			t.Errorf("%s: %v, want %v", f.name, f.got, f.want)
		}
	}
}

// ycsbDraw returns YCSB's ZipfianGenerator for one uniform number, powers and all.
func ycsbDraw(n uint64, theta, zeta float64) func(u float64) uint64 {
	zeta2 := 1 + math.Pow(0.5, theta)
	eta := (1 - math.Pow(2/float64(n), 1-theta)) / (1 - zeta2/zeta)
	return func(u float64) uint64 {
		switch {
		case u*zeta < 1:
			return 0
		case u*zeta < zeta2:
			return 1
		}
		return uint64(float64(n) * math.Pow(eta*u-eta+1, 1/(1-theta)))
	}
}

// TestYCSBMassIsTheGeneratorsBin adds masses up and asks YCSB's generator for
// the rank just inside both edges of each rank's share of the unit interval.
func TestYCSBMassIsTheGeneratorsBin(t *testing.T) {
	for _, theta := range []float64{0.5, 0.9, 0.99, 1.2, 2} {
		for _, n := range []uint64{3, 10, 1000, 200_000} {
			t.Run(fmt.Sprintf("theta=%v/records=%d", theta, n), func(t *testing.T) {
				draw := ycsbDraw(n, theta, slowSum(0, n, theta))
				d := newYCSBZipf(n, theta)
				step := uint64(1)
				if n > 1000 {
					step = 97
				}
				for k := uint64(0); k < n && d.mass(k, k+1) > 1e-10; k += step {
					below, mass := d.mass(0, k), d.mass(k, k+1)
					for _, u := range []float64{below + 0.01*mass, below + 0.99*mass} {
						if got := draw(u); got != k {
							t.Fatalf("YCSB draws rank %d at %v, the distribution has rank %d there", got, u, k)
						}
					}
				}
			})
		}
	}
}

func TestMassesSumToOne(t *testing.T) {
	t.Parallel()
	for name, l := range testDistributions() {
		t.Run(name, func(t *testing.T) {
			cuts := l.cuts()
			n := cuts[len(cuts)-1]
			bySegment := 0.0
			for i := range cuts[1:] {
				m := l.mass(cuts[i], cuts[i+1])
				if !(m >= 0 && m <= 1) {
					t.Fatalf("mass(%d, %d) = %v", cuts[i], cuts[i+1], m)
				}
				bySegment += m
			}
			if whole := l.mass(0, n); !closeTo(whole, 1, 1e-12) || !closeTo(bySegment, 1, 1e-12) {
				t.Errorf("all ranks have mass %v, all segments %v, want 1", whole, bySegment)
			}
			if n > 10_000 { // TestRanksInsideASegment looks further
				return
			}
			byRank := 0.0
			for k := range n {
				byRank += l.mass(k, k+1)
			}
			if !closeTo(byRank, 1, 1e-9) {
				t.Errorf("ranks have mass %v one by one, want 1", byRank)
			}
		})
	}
}

// testDistributions returns the distributions at ordinary and at extreme parameters.
func testDistributions() map[string]distribution {
	all := map[string]distribution{}
	for _, n := range []uint64{1, 2, 3, 1000, 4097, 1_000_000, MaxRecords} {
		all[fmt.Sprintf("flat/records=%d", n)] = flat{n}
		for _, theta := range []float64{1e-300, 0.01, 0.5, 0.99, 1 - 1e-15, 1, 1 + 1e-15, 1.2, 5, 80, 1e300} {
			all[fmt.Sprintf("exact/theta=%v/records=%d", theta, n)] = newZipf(n, theta)
			all[fmt.Sprintf("ycsb/theta=%v/records=%d", theta, n)] = newYCSBZipf(n, theta)
		}
		for _, ops := range []float64{0, 0.8, 1} {
			c := DefaultConfig()
			c.Records, c.HotOps = n, ops
			all[fmt.Sprintf("hotspot/ops=%v/records=%d", ops, n)], _ = newHotspot(c)
		}
	}
	return all
}

// TestThetaOneIsTheLimit wants no jump where the formulas change form.
func TestThetaOneIsTheLimit(t *testing.T) {
	for _, step := range []float64{-1e-9, 1e-9} {
		for _, span := range [][2]uint64{{0, 1}, {2, 3}, {999, 1000}, {5000, 6000}} {
			a, b := span[0], span[1]
			if got, want := newZipf(10_000, 1).mass(a, b), newZipf(10_000, 1+step).mass(a, b); !closeTo(got, want, 1e-7) {
				t.Errorf("exact mass(%d, %d) = %v at theta 1, %v beside it", a, b, got, want)
			}
			if got, want := newYCSBZipf(10_000, 1).mass(a, b), newYCSBZipf(10_000, 1+step).mass(a, b); !closeTo(got, want, 1e-7) {
				t.Errorf("ycsb mass(%d, %d) = %v at theta 1, %v beside it", a, b, got, want)
			}
		}
	}
}
