package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The intervals and standard deviations are from SciPy 1.17.1:
//
//	f = lambda a, b, axis=-1: np.median(b, axis=axis) / np.median(a, axis=axis)
//	r = scipy.stats.bootstrap((a, b), f, n_resamples=200000, method='percentile',
//	                          vectorized=True, rng=np.random.default_rng(1))
//	f(a, b), r.confidence_interval, np.std(np.log(r.bootstrap_distribution))
func TestRatioOfMediansKnownAnswers(t *testing.T) {
	for _, test := range []struct {
		a, b                 []float64
		value, low, high, sd float64
	}{
		{[]float64{8.01, 7.93, 8.12, 7.88, 8.05, 7.97, 8.2, 7.9, 8.03, 7.99}, []float64{8.4, 8.31, 8.52, 8.28, 8.33, 8.47, 8.39, 8.6, 8.25, 8.44},
			1.049375, 1.0348258706467663, 1.0636420919974794, 0.007020136323983439},
		{[]float64{5.1, 4.2, 6.3, 5.5, 4.9}, []float64{5.0, 5.6, 4.8, 5.2, 7.1, 4.4}, 1, 0.8, 1.2857142857142858, 0.10739275178699928},
	} {
		r, ok := RatioOfMedians(test.a, test.b, 1)
		if !ok || math.Abs(r.Value-test.value) > 1e-12 {
			t.Errorf("ratio %v, %v, want %v", r.Value, ok, test.value)
		}
		if math.Abs(r.Low/test.low-1) > 0.02 || math.Abs(r.High/test.high-1) > 0.02 {
			t.Errorf("interval %v to %v, want %v to %v", r.Low, r.High, test.low, test.high)
		}
		if got := math.Log(1+r.Smallest) / (1.959964 + 0.841621) / test.sd; math.Abs(got-1) > 0.08 {
			t.Errorf("smallest difference %v is %.3f times what it should be", r.Smallest, got)
		}
	}
	if r, ok := RatioOfMedians([]float64{1, 2, 3, 4}, []float64{4, 5, 6, 7, 8}, 1); ok || r != (Ratio{Value: 2.4}) {
		t.Errorf("4 values against 5 have %+v, %v", r, ok)
	}
}

// Samples of one distribution are told apart in at most about 1 of 20 cases; those
// that differ by the smallest difference in about 4 of 5.
func TestRatioOfMediansTellsApart(t *testing.T) {
	const seed, pairs = 5, 200
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	sample := func(n int, median float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = median * (1 + 0.03*rng.NormFloat64())
		}
		return values
	}
	smallest := 0.0
	for _, n := range []int{5, 10} {
		apart := 0
		smallest = 0
		for pair := range pairs {
			r, _ := RatioOfMedians(sample(n, 1), sample(n, 1), uint64(pair))
			smallest += r.Smallest / pairs
			if r.Low > 1 || r.High < 1 {
				apart++
			}
		}
		if apart > pairs*7/100 {
			t.Errorf("%d of %d pairs of samples alike are told apart, with %d values each", apart, pairs, n)
		}
		seen := 0
		for pair := range pairs {
			if r, _ := RatioOfMedians(sample(n, 1), sample(n, 1+smallest), uint64(pair)); r.Low > 1 {
				seen++
			}
		}
		if share := float64(seen) / pairs; share < 0.65 || share > 0.95 {
			t.Errorf("a difference of %.2f %% is seen in %.0f %% of the pairs with %d values, want about 80", 100*smallest, 100*share, n)
		}
		t.Logf("%d values: %d of %d alike told apart, a difference of %.2f %% seen %d times", n, apart, pairs, 100*smallest, seen)
	}
}
