package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// bootstrapEnd is the order statistic, from 1, that is the given quantile of the
// median of n values drawn again with replacement, n odd: it is at most the k-th
// when at least half of the draws are, each with probability k/n.
func bootstrapEnd(n int, quantile float64) int {
	for k := 1; k < n; k++ {
		draws := distuv.Binomial{N: float64(n), P: float64(k) / float64(n)}
		if 1-draws.CDF(float64(n/2)) >= quantile {
			return k
		}
	}
	return n
}

// For an odd number of pairs the bootstrap's distribution is known exactly.
func TestRatioOfPairsExactly(t *testing.T) {
	const seed = 3
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{7, 9, 11, 15} {
		for _, confidence := range []float64{0.9, 0.95, 0.99} {
			a, b, ratios := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range a {
				a[i] = 1e6 * (1 + rng.Float64())
				ratios[i] = 1 + 0.1*rng.Float64()
				b[i] = a[i] * ratios[i]
			}
			slices.Sort(ratios)
			r, ok := RatioOfPairs(a, b, confidence, seed)
			if !ok || math.Abs(r.Value-ratios[n/2]) > 1e-9 {
				t.Fatalf("%d pairs: %+v, %v", n, r, ok)
			}
			// Draws are finite: an end may be that of a tail a little to either side.
			tail := distuv.UnitNormal.CDF(-expanded(n, confidence))
			spread := 4 * math.Sqrt(tail/4000)
			atLeast, atMost := bootstrapEnd(n, max(tail-spread, 0.5/4000)), bootstrapEnd(n, tail+spread)
			if r.Low < ratios[atLeast-1]-1e-9 || r.Low > ratios[atMost-1]+1e-9 {
				t.Errorf("%d pairs, %v: low end %v, want value %d to %d of %v", n, confidence, r.Low, atLeast, atMost, ratios)
			}
			if r.High > ratios[n-atLeast]+1e-9 || r.High < ratios[n-atMost]-1e-9 {
				t.Errorf("%d pairs, %v: high end %v, want value %d to %d of %v", n, confidence, r.High, n-atMost+1, n-atLeast+1, ratios)
			}
		}
	}
}

// For 10 values and 95 % it is Student's t with 9 degrees of freedom, 2.2622, times
// sqrt(10/9).
func TestExpanded(t *testing.T) {
	if got := expanded(10, 0.95); math.Abs(got-2.2622*math.Sqrt(10.0/9)) > 1e-4 {
		t.Errorf("%v standard deviations", got)
	}
}

// Pairs that are alike but for a drift are told apart in about 1 of 20 cases at
// most, and those that differ by the smallest difference in about 4 of 5; fewer than 6
// pairs never.
func TestRatioOfPairsTellsApart(t *testing.T) {
	const seed, times = 6, 100
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	made := func(n int, ratio float64) (a, b []float64) {
		drift := 1e6
		for range n {
			drift *= 1 + 0.1*rng.NormFloat64()
			a = append(a, drift*math.Exp(0.03*rng.NormFloat64()))
			b = append(b, drift*ratio*math.Exp(0.03*rng.NormFloat64()))
		}
		return a, b
	}
	if a, b := made(5, 2); true {
		if r, ok := RatioOfPairs(a, b, 0.95, 1); ok || r.Value == 0 || r.High != 0 {
			t.Errorf("5 pairs: %+v, %v", r, ok)
		}
	}
	for _, n := range []int{6, 10, 20} {
		apart, smallest := 0, 0.0
		for i := range times {
			a, b := made(n, 1)
			r, _ := RatioOfPairs(a, b, 0.95, uint64(i))
			smallest += r.Smallest / times
			if r.Low > 1 || r.High < 1 {
				apart++
			}
		}
		if apart > times*10/100 {
			t.Errorf("%d of %d alike are told apart, with %d pairs", apart, times, n)
		}
		seen := 0
		for i := range times {
			a, b := made(n, 1+smallest)
			if r, _ := RatioOfPairs(a, b, 0.95, uint64(i)); r.Low > 1 {
				seen++
			}
		}
		if share := float64(seen) / times; share < 0.65 {
			t.Errorf("a difference of %.2f %% is seen in %.0f %% of the cases with %d pairs", 100*smallest, 100*share, n)
		}
		t.Logf("%d pairs: %d of %d alike told apart, a difference of %.2f %% seen %d times", n, apart, times, 100*smallest, seen)
	}
}

func TestSmallestPercent(t *testing.T) {
	for share, want := range map[float64]string{0.0234: "2.3 %", 0.000234: "0.023 %", 0.12: "12 %", 3.1: "310 %"} {
		if got := (Ratio{Smallest: share}).SmallestPercent(); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
}
