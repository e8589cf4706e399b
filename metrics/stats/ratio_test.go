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
func TestRatioOfPairsKnownAnswers(t *testing.T) {
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
		got, ok := RatioOf(test.a, test.b, true, test.confidence)
		for _, pair := range [][2]float64{{got.Value, test.want.Value}, {got.Low, test.want.Low}, {got.High, test.want.High}, {got.Smallest, test.want.Smallest}} {
			if !ok || math.Abs(pair[0]-pair[1]) > 1e-9 {
				t.Errorf("%+v, %v, want %+v", got, ok, test.want)
				break
			}
		}
	}
	for _, paired := range []bool{false, true} {
		if r, ok := RatioOf([]float64{2, 4}, []float64{3, 6}, paired, 0.95); ok || math.Abs(r.Value-1.5) > 1e-9 || r.High != 0 {
			t.Errorf("2 values: %+v, %v", r, ok)
		}
		if r, ok := RatioOf([]float64{2, 2, 2}, []float64{3, 3, 3}, paired, 0.95); !ok || math.Abs(r.Low-1.5) > 1e-9 || math.Abs(r.High-1.5) > 1e-9 {
			t.Errorf("constant values: %+v, %v", r, ok)
		}
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
		r, ok := RatioOf(a, b, false, 1-test.P)
		if nearest := min(math.Abs(r.Low-1), math.Abs(r.High-1)); !ok || nearest > 1e-6 {
			t.Errorf("%+v, %v of %v and %v: no end is 1 with p %v", r, ok, a, b, test.P)
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
		for _, paired := range []bool{false, true} {
			for _, n := range []int{3, 5, 10} {
				drawn := func(ratio float64) Ratio {
					a, b := make([]float64, n), make([]float64, n)
					for i := range a {
						a[i], b[i] = math.Exp(noise()), ratio*math.Exp(noise())
					}
					r, _ := RatioOf(a, b, paired, confidence)
					return r
				}
				apart, seen, smallest := 0, 0, 0.0
				for range times {
					r := drawn(1)
					smallest += r.Smallest / times
					if r.Low > 1 || r.High < 1 {
						apart++
					}
				}
				for range times {
					if drawn(1+smallest).Low > 1 {
						seen++
					}
				}
				t.Logf("%s noise, paired %v, %d values: %d of %d alike told apart, a difference of %.2f %% seen %d times", name, paired, n, apart, times, 100*smallest, seen)
				if share := float64(apart) / times; share > 1.3*(1-confidence) {
					t.Errorf("%s noise, paired %v, %d values: %.3f are told apart", name, paired, n, share)
				}
				if share := float64(seen) / times; name == "normal" && (share < 0.65 || share > 0.95) {
					t.Errorf("%s noise, paired %v, %d values: %.3f with the smallest difference are seen", name, paired, n, share)
				}
			}
		}
	}
}

func TestSmallestPercent(t *testing.T) {
	for share, want := range map[float64]string{0.0234: "2.3 %", 0.000234: "0.023 %", 0.12: "12 %", 3.1: "310 %"} {
		if got := (Ratio{Smallest: share}).SmallestPercent(); got != want {
			t.Errorf("%v is %q, want %q", share, got, want)
		}
	}
}

// A quantile that was kept is that of the distribution, also when the table has been full.
func TestQuantilesAreKept(t *testing.T) {
	table := quantileTable{most: 5}
	for i := range 40 {
		k := quantileKey{float64(1 + i%8), []float64{0.8, 0.975, 0.995}[i%3]}
		want := estimate{freedom: k.freedom}.student().Quantile(k.p)
		for range 2 {
			if got := table.of(k); got != want || len(table.known) > table.most {
				t.Fatalf("%+v: %v, want %v; %d are kept", k, got, want, len(table.known))
			}
		}
	}
	part := estimate{freedom: 4.5}
	if got, want := part.quantile(0.9), part.student().Quantile(0.9); got != want {
		t.Errorf("a quantile of 4.5 degrees of freedom is %v, want %v", got, want)
	}
}
