package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The distribution-free 95 % intervals of the median. low and high are order
// statistics from 1; coverage is from SciPy 1.17.1:
//
//	from scipy.stats import binom
//	for n, k in [(6,1),(8,1),(9,2),(10,2),(12,3),(15,4),(20,6),(30,10)]:
//	    print(n, k, n+1-k, repr(float(1 - 2*binom.cdf(k-1, n, 0.5))))
func TestMedianIntervalKnownAnswers(t *testing.T) {
	for _, test := range []struct {
		n, low, high int
		coverage     float64
	}{
		{6, 1, 6, 0.96875},
		{8, 1, 8, 0.9921875},
		{9, 2, 8, 0.9609375},
		{10, 2, 9, 0.978515625},
		{12, 3, 10, 0.96142578125},
		{15, 4, 12, 0.96484375},
		{20, 6, 15, 0.9586105346679688},
		{30, 10, 21, 0.9572260547429323},
	} {
		values := make([]float64, test.n)
		for i := range values {
			values[i] = float64(i + 1)
		}
		rand.New(rand.NewPCG(1, uint64(test.n))).Shuffle(test.n, func(i, j int) { values[i], values[j] = values[j], values[i] })
		e, ok := MedianInterval(values, 0.95)
		if !ok || e.N != test.n || e.Low != float64(test.low) || e.High != float64(test.high) || math.Abs(e.Coverage-test.coverage) > 1e-12 {
			t.Errorf("MedianInterval of 1..%d = %+v, %v; want [x%d, x%d] with %v", test.n, e, ok, test.low, test.high, test.coverage)
		}
		if want := float64(test.n+1) / 2; e.Median != want {
			t.Errorf("median of 1..%d = %v, want %v", test.n, e.Median, want)
		}
	}
	for n := range 6 {
		if e, ok := MedianInterval(make([]float64, n), 0.95); ok || e != (Estimate{N: n}) {
			t.Errorf("MedianInterval of %d zeros = %+v, %v, want no interval", n, e, ok)
		}
	}
	if e, ok := MedianInterval([]float64{3, 1, 2, 5, 4}, 0.9); !ok || e.Low != 1 || e.High != 5 {
		t.Errorf("five values at 90 %% = %+v, %v, want [1, 5]", e, ok)
	}
}

// The coverage that an interval states is the share of samples whose interval
// holds the true median, whatever the distribution: here a skewed one.
func TestMedianIntervalCovers(t *testing.T) {
	const seed, samples = 7, 20000
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, n := range []int{6, 9, 10} {
		values := make([]float64, n)
		covered, stated := 0, 0.0
		for range samples {
			for i := range values {
				values[i] = rng.ExpFloat64()
			}
			e, _ := MedianInterval(values, 0.95)
			stated = e.Coverage
			if e.Low <= math.Ln2 && math.Ln2 <= e.High {
				covered++
			}
		}
		got := float64(covered) / samples
		if sd := math.Sqrt(stated * (1 - stated) / samples); math.Abs(got-stated) > 4*sd {
			t.Errorf("intervals of %d values cover %.4f, they state %.4f", n, got, stated)
		}
	}
}

func TestMedian(t *testing.T) {
	values := []float64{9, 1, 5}
	if got := Median(values); got != 5 || values[0] != 9 {
		t.Errorf("Median = %v of what is now %v", got, values)
	}
	if got := Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("Median of 1..4 = %v, want 2.5", got)
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing = %v, want NaN", got)
	}
}

func TestEstimateWords(t *testing.T) {
	few, _ := MedianInterval([]float64{1e6, 3e6, 2e6}, 0.95)
	one, _ := MedianInterval([]float64{1e6}, 0.95)
	many, _ := MedianInterval([]float64{1e6, 2e6, 3e6, 4e6, 5e6, 6e6}, 0.95)
	for _, test := range []struct {
		e     Estimate
		words string
		half  float64
	}{
		{Estimate{}, "no values", math.Inf(1)},
		{one, "1M (one value, no interval)", math.Inf(1)},
		{few, "2M (median of 3, too few for an interval)", math.Inf(1)},
		{many, "3.5M [1M, 6M] (96.9 % interval of 6)", 2.5 / 3.5},
	} {
		if got := test.e.String(); got != test.words {
			t.Errorf("%q, want %q", got, test.words)
		}
		if got := test.e.HalfWidth(); got != test.half {
			t.Errorf("half width of %s = %v, want %v", test.words, got, test.half)
		}
	}
}

// The ranks are the narrowest that hold the definition, whose probabilities are
// summed up here term by term.
func TestQuantileRanks(t *testing.T) {
	const confidence = 0.95
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		for _, n := range []uint64{1, 5, 6, 29, 100, 367, 368, 1000, 3688} {
			// below[k] = P(Bin(n, q) < k)
			below := make([]float64, n+2)
			for k := uint64(0); k <= n; k++ {
				lgN, _ := math.Lgamma(float64(n) + 1)
				lgK, _ := math.Lgamma(float64(k) + 1)
				lgR, _ := math.Lgamma(float64(n-k) + 1)
				below[k+1] = below[k] + math.Exp(lgN-lgK-lgR+float64(k)*math.Log(q)+float64(n-k)*math.Log1p(-q))
			}
			const side = (1 - confidence) / 2
			var low, high uint64 // 0: none
			for k := uint64(1); k <= n; k++ {
				if below[k] <= side {
					low = k
				}
				if high == 0 && 1-below[k] <= side {
					high = k
				}
			}
			gotLow, gotHigh, ok := QuantileRanks(n, q, confidence)
			if ok != (low > 0 && high > 0) || ok && (gotLow != low || gotHigh != high) {
				t.Errorf("quantile %v of %d samples: ranks %d and %d, %t; want %d and %d", q, n, gotLow, gotHigh, ok, low, high)
			}
		}
	}
	if _, _, ok := QuantileRanks(0, 0.5, confidence); ok {
		t.Error("no samples have an interval")
	}
}
