package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
)

// The values are from SciPy 1.17.1:
//
//	l = np.log(np.array(b) / np.array(a)); n = len(l)
//	i = scipy.stats.ttest_1samp(l, 0).confidence_interval(confidence)
//	scipy.stats.gmean(np.array(b) / np.array(a)), np.exp(i.low), np.exp(i.high)
//	np.exp((scipy.stats.t.ppf((1+confidence)/2, n-1) + scipy.stats.t.ppf(.8, n-1)) * scipy.stats.sem(l)) - 1
func TestComparePairsKnownAnswers(t *testing.T) {
	for _, test := range []struct {
		a, b       []float64
		confidence float64
		want       [4]float64 // the ratio, its interval, the smallest difference
	}{
		{[]float64{8.01, 7.93, 8.12, 7.88, 8.05}, []float64{8.4, 8.31, 8.52, 8.33, 8.39}, 0.995,
			[4]float64{1.049031688449077, 1.0358339192922164, 1.0623976130481119, 0.014898910800715148}},
		{[]float64{5.1, 4.2, 6.3, 5.5, 4.9, 5.2}, []float64{5.0, 5.6, 4.8, 5.2, 7.1, 4.4}, 0.95,
			[4]float64{1.0242325763957651, 0.7846816812292555, 1.3369145675822294, 0.4358030606906851}},
	} {
		c := Compare(test.a, test.b, Paired)
		low, high := c.RatioInterval(test.confidence)
		for i, got := range []float64{c.Ratio(), low, high, c.Smallest(test.confidence)} {
			if !c.Known || math.Abs(got-test.want[i]) > 1e-9 {
				t.Errorf("%+v: figure %d is %v, want %v", c, i, got, test.want[i])
			}
		}
	}
	for _, how := range []Sampling{Paired, Apart, Again} {
		c := Compare([]float64{2, 4}, []float64{3, 6}, how)
		if _, high := c.RatioInterval(0.95); c.Known || math.Abs(c.Ratio()-1.5) > 1e-9 || high != 0 {
			t.Errorf("2 values: %+v", c)
		}
		c = Compare([]float64{2, 2, 2}, []float64{3, 3, 3}, how)
		if low, high := c.RatioInterval(0.95); !c.Known || math.Abs(low-1.5) > 1e-9 || math.Abs(high-1.5) > 1e-9 {
			t.Errorf("constant values: %+v", c)
		}
		if c := Compare(nil, nil, how); c != (Comparison{}) {
			t.Errorf("no values: %+v", c)
		}
	}
	if c := Compare([]float64{2, 2}, []float64{3}, Again); c.Known || math.Abs(c.Ratio()-1.5) > 1e-12 {
		t.Errorf("3 values, measured again: %+v", c)
	}
	if test := Compare([]float64{2}, []float64{2, 2, 2}, Again).In(-0.1, 0.1); test.Inside != 0 || test.Outside != 1 {
		t.Errorf("equal values, measured again: %+v", test)
	}
	if c := Compare(nil, []float64{2, 4, 8}, Paired); math.Abs(c.Ratio()-4) > 1e-9 || !c.Known {
		t.Errorf("one sample: %+v", c)
	}
}

// An interval with the confidence 1-p, where p is what Welch's test gives equal
// means, ends at 1.
func TestRatioEndsWhereWelchsTestDoes(t *testing.T) {
	const seed = 5
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		a, b := sample(rng, 3+rng.IntN(8), 1, 0.03), sample(rng, 3+rng.IntN(8), 1.02, 0.05)
		test, err := moremath.TwoSampleWelchTTest(moremath.Sample{Xs: logs(a)}, moremath.Sample{Xs: logs(b)}, moremath.LocationDiffers)
		if err != nil {
			t.Fatal(err)
		}
		c := Compare(a, b, Apart)
		low, high := c.RatioInterval(1 - test.P)
		if nearest := min(math.Abs(low-1), math.Abs(high-1)); nearest > 1e-6 {
			t.Errorf("%+v of %v and %v: no end is 1 with p %v", c, a, b, test.P)
		}
	}
}

func sample(rng *rand.Rand, n int, median, noise float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = median * math.Exp(noise*rng.NormFloat64())
	}
	return values
}

// Samples that are alike are told apart no more often than the confidence says, with
// normal noise and with tails as long as those of a machine that stands still now and
// then; those that differ by the smallest difference in about 4 of 5 cases.
func TestRatioCovers(t *testing.T) {
	const seed, times, confidence = 7, 1000, 0.95
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for name, noise := range map[string]func() float64{
		"normal":       func() float64 { return 0.01 * rng.NormFloat64() },
		"contaminated": func() float64 { return 0.01 * rng.NormFloat64() * (1 + 9*math.Floor(rng.Float64()+0.1)) },
		"skewed":       func() float64 { return 0.01 * rng.ExpFloat64() },
	} {
		for _, how := range []Sampling{Paired, Apart} {
			for _, n := range []int{3, 5, 10} {
				drawn := func(ratio float64) Comparison {
					a, b := make([]float64, n), make([]float64, n)
					for i := range a {
						a[i], b[i] = math.Exp(noise()), ratio*math.Exp(noise())
					}
					return Compare(a, b, how)
				}
				apart, seen, smallest := 0, 0, 0.0
				for range times {
					c := drawn(1)
					smallest += c.Smallest(confidence) / times
					if o := c.In(0, 0).Outcome(1 - confidence); o == Above || o == Below {
						apart++
					}
				}
				for range times {
					if drawn(1+smallest).In(0, 0).Outcome(1-confidence) == Above {
						seen++
					}
				}
				t.Logf("%s noise, sampling %v, %d values: %d of %d alike told apart, a difference of %.2f %% seen %d times", name, how, n, apart, times, 100*smallest, seen)
				if share := float64(apart) / times; share > 1.3*(1-confidence) {
					t.Errorf("%s noise, sampling %v, %d values: %.3f are told apart", name, how, n, share)
				}
				if share := float64(seen) / times; name == "normal" && (share < 0.65 || share > 0.95) {
					t.Errorf("%s noise, sampling %v, %d values: %.3f with the smallest difference are seen", name, how, n, share)
				}
			}
		}
	}
}

func TestSmallestPercent(t *testing.T) {
	for share, want := range map[float64]string{0.0234: "2.3 %", 0.000234: "0.023 %", 0.12: "12 %", 3.1: "310 %"} {
		if got := percentOf(share); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
}

// A quantile that was kept is that of the distribution.
func TestQuantiles(t *testing.T) {
	for i := range 40 {
		e, p := estimate{freedom: []float64{1, 2, 3, 4.5, 7}[i%5]}, []float64{0.8, 0.975, 0.995}[i%3]
		if got, want := e.quantile(p), e.student().Quantile(p); got != want {
			t.Errorf("%v degrees of freedom, %v: %v, want %v", e.freedom, p, got, want)
		}
	}
}
