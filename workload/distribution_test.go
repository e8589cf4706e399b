package workload

import (
	"fmt"
	"math"
	"os"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// chiSquare returns the p-value of counts[rank] draws against mass(rank). Ranks
// are pooled in order until a cell expects at least 5 draws.
func chiSquare(counts []uint64, mass func(rank uint64) float64) float64 {
	draws := uint64(0)
	for _, c := range counts {
		draws += c
	}
	var observed, expected []float64
	o, e := 0.0, 0.0
	for rank, c := range counts {
		o += float64(c)
		e += mass(uint64(rank)) * float64(draws)
		if e >= 5 {
			observed, expected = append(observed, o), append(expected, e)
			o, e = 0, 0
		}
	}
	if last := len(observed) - 1; last >= 0 { // what is left belongs to the last cell
		observed[last] += o
		expected[last] += e
	}
	if len(observed) < 2 {
		return 1
	}
	statistic := 0.0
	for i := range observed {
		statistic += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i]
	}
	return distuv.ChiSquared{K: float64(len(observed) - 1)}.Survival(statistic)
}

// rankCounts draws operations and counts them by the rank of their record.
func rankCounts(t *testing.T, c Config, draws int) ([]uint64, *Plan) {
	t.Helper()
	plan := mustNew(t, c)
	byKey := make([]uint64, c.Records)
	source := plan.Source(at(0, 0))
	ops := make([]Op, 10_000)
	for range draws / len(ops) {
		source.Fill(ops)
		for _, op := range ops {
			byKey[op.Key]++
		}
	}
	counts := make([]uint64, c.Records)
	for rank := range counts {
		counts[rank] = byKey[plan.Key(uint64(rank))]
	}
	return counts, plan
}

func mustNew(t testing.TB, c Config) *Plan {
	t.Helper()
	plan, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// drawn returns how many of the draws a test makes: a fifth, and all with KVLAB_LONG=1.
func drawn(draws int) int {
	if os.Getenv("KVLAB_LONG") == "1" {
		return draws
	}
	return draws / 5
}

// checkDistribution fails when draws as unlike the closed form would come once
// in a million seeds.
func checkDistribution(t *testing.T, c Config, draws int) {
	t.Helper()
	draws = drawn(draws)
	counts, plan := rankCounts(t, c, draws)
	p := chiSquare(counts, plan.Mass)
	t.Logf("seed %d: p = %.3g", c.Seed, p)
	if !(p > 1e-6) {
		t.Errorf("seed %d: %d draws have p = %.3g against the closed form", c.Seed, draws, p)
	}
}

// With KVLAB_LONG=1 both forms have a million records.
func TestZipfianMatchesItsClosedForm(t *testing.T) {
	t.Parallel()
	for _, form := range []string{ZipfianYCSB, ZipfianExact} {
		for _, theta := range append([]float64{3, 80, 1e300}, zipfThetas...) {
			sizes := []uint64{1, 2, 1000, 100_000}
			if theta == 0.99 && (form == ZipfianYCSB || os.Getenv("KVLAB_LONG") == "1") {
				sizes = append(sizes, 1_000_000)
			}
			for _, n := range sizes {
				t.Run(fmt.Sprintf("form=%s/theta=%v/records=%d", form, theta, n), func(t *testing.T) {
					c := DefaultConfig()
					c.Zipfian, c.Theta, c.Records, c.Seed = form, theta, n, 20261121
					checkDistribution(t, c, 1_000_000)
				})
			}
		}
	}
}

func TestOtherDistributionsMatchTheirClosedForms(t *testing.T) {
	t.Parallel()
	for _, distribution := range []string{Zipfian, Uniform, Latest, Hotspot} {
		for _, scramble := range []bool{false, true} {
			for _, n := range []uint64{1, 2, 3, 1009, 100_000} {
				t.Run(fmt.Sprintf("dist=%s/scramble=%t/records=%d", distribution, scramble, n), func(t *testing.T) {
					c := DefaultConfig()
					c.Distribution, c.Scramble, c.Records, c.Seed = distribution, scramble, n, 7
					checkDistribution(t, c, 500_000)
				})
			}
		}
	}
}

// TestChiSquareSeesTheDifference makes sure that the test above has teeth: the
// two zipfian forms are 1 % apart, and 10^6 draws tell them apart.
func TestChiSquareSeesTheDifference(t *testing.T) {
	c := DefaultConfig()
	c.Records = 1000
	counts, _ := rankCounts(t, c, 1_000_000)
	c.Zipfian = ZipfianExact
	if p := chiSquare(counts, mustNew(t, c).Mass); p > 1e-6 {
		t.Errorf("draws of the ycsb form pass as the exact form with p = %.3g", p)
	}
}

// TestManyRecords counts by powers of two, for no table holds 2^40 records.
func TestManyRecords(t *testing.T) {
	for _, distribution := range []string{Zipfian, Uniform, Latest} {
		t.Run(distribution, func(t *testing.T) {
			c := DefaultConfig()
			c.Distribution, c.Records = distribution, MaxRecords
			plan := mustNew(t, c)
			counts := make([]uint64, 41)
			ops := make([]Op, 500_000)
			plan.Source(at(0, 0)).Fill(ops)
			for _, op := range ops {
				rank := op.Key
				if distribution == Latest {
					rank = MaxRecords - 1 - op.Key
				}
				counts[int(math.Log2(float64(rank)+1))]++
			}
			p := chiSquare(counts, func(octave uint64) float64 {
				from := uint64(1)<<octave - 1
				return plan.distribution.mass(min(from, MaxRecords), min(2*from+1, MaxRecords))
			})
			if !(p > 1e-6) {
				t.Errorf("seed %d: p = %.3g against the closed form", c.Seed, p)
			}
		})
	}
}

func TestMassOfNoRecord(t *testing.T) {
	for _, d := range distributions {
		c := DefaultConfig()
		c.Distribution = d.name
		if got := mustNew(t, c).Mass(c.Records); got != 0 {
			t.Errorf("%s: Mass(%d) = %v, want 0", d.name, c.Records, got)
		}
	}
}
