package stats

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// Computed by SciPy 1.17.1:
//
//	rng = numpy.random.default_rng(20261121)
//	for n in (4, 5, 8, 20, 33, 34, 50):
//	    c = [round(float(x), 3) for x in rng.normal(100, 5, n) + (numpy.arange(n) * 0.5 if n in (8, 34) else 0)]
//	    print(c, scipy.stats.kendalltau(range(n), c).pvalue)
//
// and the first ones the same way.
var kendallCases = []struct {
	values []float64
	p      float64
}{
	{[]float64{1, 2, 3, 4, 5, 6}, 0.002777777777777778},
	{[]float64{6, 5, 4, 3, 2, 1}, 0.002777777777777778},
	{[]float64{3, 1, 2}, 1.0},
	{[]float64{2, 2, 1, 3, 3, 5}, 0.07945818974316925},
	{[]float64{1, 2, 2, 3, 4, 4, 4, 5, 9, 7}, 0.0003776023582957601},
	{[]float64{100.895, 103.275, 102.126, 104.238}, 0.3333333333333333},
	{[]float64{102.673, 96.149, 98.457, 97.374, 101.162}, 1.0},
	{[]float64{99.447, 100.606, 89.587, 96.537, 104.618, 104.69, 99.729, 109.65}, 0.10868055555555556},
	{[]float64{99.32, 102.703, 100.821, 100.435, 99.203, 93.046, 96.393, 91.195, 101.62, 97.892, 95.217, 107.235, 105.277, 97.966, 93.045, 90.331, 100.64, 99.197, 94.399, 97.905}, 0.20862839781386747},
	{[]float64{97.633, 85.657, 101.203, 98.128, 86.637, 95.034, 95.624, 96.717, 100.099, 98.029, 100.989, 99.522, 99.805, 101.296, 92.949, 108.958, 95.527, 89.562, 107.694, 103.622, 97.044, 101.675, 100.313, 91.508, 85.375, 102.347, 101.731, 94.871, 102.726, 92.91, 99.201, 101.888, 104.173}, 0.09135370757484507},
	{[]float64{99.03, 102.92, 101.939, 102.742, 100.368, 102.043, 88.026, 110.132, 96.655, 105.165, 98.919, 107.955, 104.628, 103.131, 104.663, 114.674, 109.148, 114.692, 120.127, 114.527, 109.611, 111.385, 116.851, 123.217, 111.114, 108.237, 116.068, 107.344, 106.976, 109.427, 117.207, 109.47, 120.532, 121.477}, 1.0683327407572432e-05},
	{[]float64{96.713, 102.721, 109.798, 104.729, 92.708, 108.128, 96.809, 94.052, 100.508, 92.456, 89.944, 92.238, 103.618, 102.939, 94.25, 96.38, 104.511, 98.522, 95.845, 96.085, 90.657, 99.485, 103.615, 99.93, 97.714, 112.803, 103.971, 103.549, 101.023, 89.143, 97.254, 93.058, 101.258, 96.969, 98.755, 102.491, 107.888, 103.637, 100.718, 97.67, 95.177, 96.772, 95.555, 96.842, 102.952, 92.414, 99.872, 102.847, 104.996, 101.629}, 0.6454680027221649},
}

func TestMannKendall(t *testing.T) {
	for _, test := range kendallCases {
		got := MannKendall(test.values)
		if math.Abs(got-test.p) > 0.06 {
			t.Errorf("%v: p %v, SciPy says %v", test.values, got, test.p)
		}
		if len(test.values) > 5 && got <= MinTrendP && test.p > MinTrendP {
			t.Errorf("%v: p %v is a trend, SciPy says %v", test.values, got, test.p)
		}
	}
	// |S| = 15, variance 85/3: 2*(1-Phi(14/sqrt(85/3))).
	if got := MannKendall([]float64{1, 2, 3, 4, 5, 6}); math.Abs(got-0.008535) > 1e-6 {
		t.Errorf("six rising values: p %v", got)
	}
	if got := MannKendall([]float64{1, 1, 1, 1}); got != 1 {
		t.Errorf("equal values: p %v, want 1", got)
	}
}

// Without a trend, p is below a level no more often than the level says.
func TestMannKendallLevel(t *testing.T) {
	seed, repeats := uint64(8), 4000
	if os.Getenv("KVLAB_LONG") == "1" {
		seed, repeats = rand.Uint64(), 20_000
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, n := range []int{5, 12, 40} {
		below := 0
		values := make([]float64, n)
		for range repeats {
			for i := range values {
				values[i] = random.Float64()
			}
			if MannKendall(values) <= MinTrendP {
				below++
			}
		}
		// Five standard deviations above the level.
		if expected := float64(repeats) * MinTrendP; float64(below) > expected+5*math.Sqrt(expected) {
			t.Errorf("%d values: %d of %d below %v, want at most %.0f", n, below, repeats, MinTrendP, expected+5*math.Sqrt(expected))
		}
		if n == 5 && below > 0 {
			t.Errorf("5 values cannot show a trend at this level, and did %d times", below)
		}
	}
}

func TestStationaryRates(t *testing.T) {
	flat := []float64{100, 101, 100, 99, 101, 100, 99, 100}
	rising := make([]float64, 8)
	for i := range rising {
		rising[i] = 100 + 0.2*float64(i) // within 2 %, and a trend
	}
	reversed := slices.Clone(rising)
	slices.Reverse(reversed)
	for _, test := range []struct {
		name       string
		rates      []float64
		ok, steady bool
		drift      float64
	}{
		{"too few", flat[:3], false, false, 0},
		{"flat", flat, true, true, 0},
		{"odd", []float64{100, 100, 50, 100, 100}, true, true, 0},
		{"step up", []float64{100, 100, 103, 103}, true, false, 3.0 / 103},
		{"beyond the limit", []float64{100, 100, 102.1, 102.1}, true, false, 2.1 / 102.1},
		{"step down", []float64{100, 100, 97, 97}, true, false, -0.03},
		{"at the limit", []float64{100, 100, 102, 102}, true, true, 2.0 / 102},
		{"slow rise", rising, true, false, 0.8 / 101.1},
		{"slow fall", reversed, true, false, -0.8 / 101.1},
		{"nothing at all", make([]float64, 6), true, true, 0},
		{"from nothing", []float64{0, 0, 0, 5, 5, 5}, true, false, 1},
	} {
		got, ok := CheckStationary(test.rates)
		if ok != test.ok || got.Stationary != test.steady {
			t.Errorf("%s: %+v, %v; want stationary %v, %v", test.name, got, ok, test.steady, test.ok)
		}
		if math.Abs(got.DriftShare-test.drift) > 1e-12 {
			t.Errorf("%s: drift %v, want %v", test.name, got.DriftShare, test.drift)
		}
	}
}

// A store five times slower from mid-window on has drifted, in 5 s too. Noise that a busy
// machine makes is called a drift in few windows, and small changes are not looked for.
func TestDrift(t *testing.T) {
	for _, test := range []struct {
		rates  []float64
		steady bool
		drift  float64
	}{
		{[]float64{100, 97, 60, 20, 21}, false, -0.79},
		{[]float64{100, 90, 110, 95, 20, 22, 18, 21}, false, -0.79},
		{[]float64{100, 100, 101, 101, 101, 102, 101, 101}, true, 0},
		{[]float64{100, 60, 90, 70, 110, 50, 120, 65}, true, 0},
		{[]float64{0, 0, 0, 100, 100, 100}, false, 1},
	} {
		if got, ok := CheckDrift(test.rates); !ok || got.Stationary != test.steady || !test.steady && math.Abs(got.DriftShare-test.drift) > 0.02 {
			t.Errorf("%v: %+v, want steady %v, drift %v", test.rates, got, test.steady, test.drift)
		}
	}
	const windows, seed = 2000, 7
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	for _, seconds := range []int{5, 10, 30} {
		drifted := 0
		for range windows {
			rates := make([]float64, seconds)
			for i := range rates {
				rates[i] = 1e6 * math.Exp(0.3*random.NormFloat64())
			}
			if s, _ := CheckDrift(rates); !s.Stationary {
				drifted++
			}
		}
		if drifted > windows*3/100 {
			t.Errorf("%d of %d windows of %d s drift by noise alone", drifted, windows, seconds)
		}
	}
	if got := Sum([]float64{1, 2, 3}, []float64{10, 20}, []float64{100, 200, 300}); !slices.Equal(got, []float64{111, 222}) {
		t.Errorf("sum %v", got)
	}
}
