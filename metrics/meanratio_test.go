package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The values are from SciPy 1.17.1:
//
//	l = np.log(np.array(b) / np.array(a)); n = len(l)
//	i = scipy.stats.ttest_1samp(l, 0).confidence_interval(confidence)
//	scipy.stats.gmean(np.array(b) / np.array(a)), np.exp(i.low), np.exp(i.high)
//	np.exp((scipy.stats.t.ppf((1+confidence)/2, n-1) + scipy.stats.t.ppf(.8, n-1)) * scipy.stats.sem(l)) - 1
func TestMeanRatioKnownAnswers(t *testing.T) {
	for _, test := range []struct {
		a, b       []float64
		confidence float64
		want       Ratio
	}{
		{[]float64{8.01, 7.93, 8.12, 7.88, 8.05}, []float64{8.4, 8.31, 8.52, 8.33, 8.39}, 0.995,
			Ratio{1.049031688449077, 1.0358339192922164, 1.0623976130481119, 0.014898910800715148}},
		{[]float64{5.1, 4.2, 6.3, 5.5, 4.9, 5.2}, []float64{5.0, 5.6, 4.8, 5.2, 7.1, 4.4}, 0.95,
			Ratio{1.0242325763957651, 0.7846816812292555, 1.3369145675822294, 0.4358030606906851}},
	} {
		got, ok := MeanRatio(test.a, test.b, test.confidence)
		for _, pair := range [][2]float64{{got.Value, test.want.Value}, {got.Low, test.want.Low}, {got.High, test.want.High}, {got.Smallest, test.want.Smallest}} {
			if !ok || math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%+v, %v, want %+v", got, ok, test.want)
				break
			}
		}
	}
	if r, ok := MeanRatio([]float64{2, 4}, []float64{3, 6}, 0.95); ok || math.Abs(r.Value-1.5) > 1e-9 || r.High != 0 {
		t.Errorf("2 pairs: %+v, %v", r, ok)
	}
}

// Pairs that are alike are told apart no more often than the confidence says, with
// normal noise and with tails as long as those of a machine that stands still now and
// then.
func TestMeanRatioCovers(t *testing.T) {
	const seed, times, confidence = 7, 4000, 0.95
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for name, noise := range map[string]func() float64{
		"normal":       func() float64 { return 0.01 * rng.NormFloat64() },
		"contaminated": func() float64 { return 0.01 * rng.NormFloat64() * (1 + 9*math.Floor(rng.Float64()+0.1)) },
		"skewed":       func() float64 { return 0.01 * rng.ExpFloat64() },
	} {
		for _, n := range []int{5, 10} {
			apart := 0
			for range times {
				a, b := make([]float64, n), make([]float64, n)
				for i := range a {
					a[i], b[i] = math.Exp(noise()), math.Exp(noise())
				}
				if r, _ := MeanRatio(a, b, confidence); r.Low > 1 || r.High < 1 {
					apart++
				}
			}
			if share := float64(apart) / times; share > 1.2*(1-confidence) {
				t.Errorf("%s noise, %d pairs: %.3f are told apart", name, n, share)
			} else {
				t.Logf("%s noise, %d pairs: %.3f are told apart", name, n, share)
			}
		}
	}
}
