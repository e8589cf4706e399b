package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// normals are n logarithms around a mean.
func normals(rng *rand.Rand, n int, mean, deviation float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = mean + deviation*rng.NormFloat64()
	}
	return values
}

// The p values say what the intervals say, which are those of RatioOf.
func TestInRangeIsItsIntervals(t *testing.T) {
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, 0))
	inside, outside := 0, 0
	for range 3000 {
		values := normals(rng, 3+rng.IntN(12), 0.06*rng.NormFloat64(), 0.05)
		from, to := -0.05, 0.04
		switch rng.IntN(3) {
		case 0:
			from = math.Inf(-1)
		case 1:
			to = math.Inf(1)
		}
		test, ok := InRange(values, from, to)
		within := test.Low90 > from && test.High90 < to
		beyond := test.High < from || test.Low > to
		if math.IsInf(from, -1) || math.IsInf(to, 1) {
			beyond = test.High90 < from || test.Low90 > to
		}
		if !ok || within != (test.Inside < 0.05) || beyond != (test.Outside < 0.05) || test.Inside < 0.05 && test.Outside < 0.05 {
			t.Fatalf("%v from %v to %v: %+v", values, from, to, test)
		}
		if within {
			inside++
		}
		if beyond {
			outside++
		}
		ones, exp := make([]float64, len(values)), make([]float64, len(values))
		for i, v := range values {
			ones[i], exp[i] = 1, math.Exp(v)
		}
		if r, _ := RatioOf(ones, exp, true, 0.95); math.Abs(math.Log(r.Low)-test.Low) > 1e-9 || math.Abs(math.Log(r.High)-test.High) > 1e-9 {
			t.Fatalf("interval %v to %v, that of the ratio %+v", test.Low, test.High, r)
		}
	}
	if inside < 100 || outside < 100 {
		t.Errorf("%d inside, %d outside: the test tests nothing", inside, outside)
	}
}

// rates are how often tests of n values, whose means are these, say inside and outside.
func rates(rng *rand.Rand, times, n int, deviation, alpha, from, to float64, means ...float64) (inside, outside float64) {
	for range times {
		var tests []RangeTest
		for _, mean := range means {
			test, _ := InRange(normals(rng, n, mean, deviation), from, to)
			tests = append(tests, test)
		}
		if AllInside(tests) <= alpha {
			inside += 1 / float64(times)
		}
		if AnyOutside(tests) <= alpha {
			outside += 1 / float64(times)
		}
	}
	return inside, outside
}

// At an end of the range, neither answer is wrong more often than alpha. Beyond it, the
// wrong one is rarer, and two margins away the right one is sure.
func TestInRangeErrors(t *testing.T) {
	const seed, times, n, deviation = 11, 1500, 8, 0.02
	rng := rand.New(rand.NewPCG(seed, 1))
	none := math.Inf(1)
	for _, test := range []struct {
		name            string
		alpha, from, to float64
		means           []float64
		inside, outside float64 // the rates; of the closed form where it is one
	}{
		{"ratio at its end", 0.05, -0.1, 0.1, []float64{0.1}, 0.05, 0.025},
		{"ratio at its end, 1 %", 0.01, -0.1, 0.1, []float64{-0.1}, 0.01, 0.005},
		{"at least, at its end", 0.05, 0.7, none, []float64{0.7}, 0.05, 0.05},
		{"at most, at its end", 0.05, -none, 0.7, []float64{0.7}, 0.05, 0.05},
		{"order, one pair equal", 0.05, 0, none, []float64{0.5, 0, 0.5}, 0.05, 0.05 / 3},
		{"order, all equal", 0.05, 0, none, []float64{0, 0, 0}, 0.05 * 0.05 * 0.05, 1 - math.Pow(1-0.05/3, 3)},
		{"same, two margins beyond", 0.01, -0.1, 0.1, []float64{0.3}, 0, 1},
		{"same, equal", 0.01, -0.1, 0.1, []float64{0, 0}, 1, 0},
		{"at least, two margins above", 0.01, 0.1, none, []float64{0.2}, 1, 0},
	} {
		inside, outside := rates(rng, times, n, deviation, test.alpha, test.from, test.to, test.means...)
		for _, r := range [][2]float64{{inside, test.inside}, {outside, test.outside}} {
			if margin := 4*math.Sqrt(r[1]*(1-r[1])/times) + 0.001; math.Abs(r[0]-r[1]) > margin {
				t.Errorf("%s: said inside %.4f, outside %.4f, want %.4f and %.4f", test.name, inside, outside, test.inside, test.outside)
			}
		}
	}
}

func TestInRangeEnds(t *testing.T) {
	none := math.Inf(1)
	for _, values := range [][]float64{nil, {1}, {1, 2}} {
		if test, ok := InRange(values, 0, none); ok || len(values) > 0 && (test.Mean == 0 || test.Inside != 1 || test.Outside != 1) {
			t.Errorf("%v: %+v, %v", values, test, ok)
		}
	}
	for _, test := range []struct {
		value, inside, outside float64
	}{{0.5, 0, 1}, {1, 0, 1}, {1.5, 1, 0}} {
		got, ok := InRange([]float64{test.value, test.value, test.value}, -none, 1)
		if !ok || got.Inside != test.inside || got.Outside != test.outside || RoundsNeeded([]RangeTest{got}, 0.05, 0.05) != 3 {
			t.Errorf("constant %v: %+v", test.value, got)
		}
	}
}

// With the number of rounds that is said to be needed, about 4 of 5 cases are decided; of
// claims with several parts, which need all, at least these.
func TestRoundsNeeded(t *testing.T) {
	const seed, times, deviation, alpha = 5, 500, 0.05, 0.05
	rng := rand.New(rand.NewPCG(seed, 2))
	none := math.Inf(1)
	for _, test := range []struct {
		name     string
		from, to float64
		means    []float64
		holds    bool
	}{
		{"equal, within 4 %", -0.04, 0.04, []float64{0}, true},
		{"off centre", -0.04, 0.04, []float64{0.02}, true},
		{"beyond", -0.04, 0.04, []float64{0.08}, false},
		{"above", 0, none, []float64{0.03}, true},
		{"below", 0, none, []float64{-0.02}, false},
		{"three in order", 0, none, []float64{0.03, 0.04, 0.03}, true},
		{"one of three reversed", 0, none, []float64{0.03, 0.04, -0.05}, false},
	} {
		var tests []RangeTest
		for _, mean := range test.means {
			tests = append(tests, RangeTest{Mean: mean, from: test.from, to: test.to, deviation: deviation})
		}
		n := RoundsNeeded(tests, alpha, alpha)
		inside, outside := rates(rng, times, n, deviation, alpha, test.from, test.to, test.means...)
		right := map[bool]float64{true: inside, false: outside}[test.holds]
		t.Logf("%s: %d rounds decide %.3f", test.name, n, right)
		if right < 0.75 || right > 0.9 && n > 4 {
			t.Errorf("%s: %d rounds decide %.3f, want about 0.8", test.name, n, right)
		}
	}
	// The formula for planning of a difference of 2 % with 2 % noise in each: 7.85 (sigma /
	// difference)^2 + 2, two-sided.
	one := RangeTest{Mean: 0.02, from: 0, to: 0, deviation: 0.02 * math.Sqrt2}
	if n := RoundsNeeded([]RangeTest{one}, 0.05, 0.05); n < 17 || n > 19 {
		t.Errorf("%d rounds, want 18", n)
	}
	if n := RoundsNeeded([]RangeTest{{Mean: 0, from: 0, to: none, deviation: 1}}, 0.05, 0.05); n != 0 {
		t.Errorf("a mean at the end needs %d rounds, want 0: none decide", n)
	}
}

// The example is Holm's procedure by hand; then the probability of one or more wrong
// rejections, with as many true hypotheses as there may be, all with one noise.
func TestHolm(t *testing.T) {
	for _, test := range []struct {
		p    []float64
		want []bool
	}{
		{nil, []bool{}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []bool{true, false, false, true}},
		{[]float64{0.05}, []bool{true}},
		{[]float64{0.05, 0.025}, []bool{true, true}},
		{[]float64{0.03, 0.03}, []bool{false, false}},
		{[]float64{1, 0.0001, 1}, []bool{false, true, false}},
	} {
		if got := Holm(test.p, 0.05); !slices.Equal(got, test.want) {
			t.Errorf("%v: %v, want %v", test.p, got, test.want)
		}
	}
	const seed, times, claims = 9, 500, 20
	rng := rand.New(rand.NewPCG(seed, 3))
	wrong := 0
	for range times {
		var p []float64
		for i := range claims {
			mean := 0.0
			if i%4 == 0 {
				mean = -1 // an end that is not held: each such rejection is right
			}
			test, _ := InRange(normals(rng, 6, mean, 0.1), 0, math.Inf(1))
			p = append(p, test.Outside)
		}
		for i, rejected := range Holm(p, 0.05) {
			if rejected && i%4 != 0 {
				wrong++
				break
			}
		}
	}
	if share := float64(wrong) / times; share > 0.05+3*math.Sqrt(0.05*0.95/times) || share < 0.02 {
		t.Errorf("one or more wrong rejections in %.3f of the pages, want at most 0.05", share)
	}
}

// Of two samples that were not measured in pairs, the interval is that of RatioOf, the tests
// at an end of the range are wrong in at most 5 % of the cases, and the number of values that
// RoundsNeeded plans decides.
func TestRatioInRange(t *testing.T) {
	const seed, times, deviation = 11, 2000, 0.02
	rng := rand.New(rand.NewPCG(seed, 0))
	exp := func(values []float64) []float64 {
		for i, v := range values {
			values[i] = math.Exp(v)
		}
		return values
	}
	from, to := math.Log(0.95), math.Inf(1)
	decided := func(n int, ratio float64) (inside, outside float64, needed int) {
		var last RangeTest
		for i := range times {
			a, b := exp(normals(rng, n, 3, deviation)), exp(normals(rng, n, 3+math.Log(ratio), deviation))
			test, ok := RatioInRange(a, b, from, to)
			r := Ratio{}
			if i < 100 {
				r, _ = RatioOf(a, b, false, 0.95)
			}
			if !ok || i < 100 && math.Abs(math.Exp(test.Mean)/r.Value-1)+math.Abs(math.Exp(test.Low)/r.Low-1)+math.Abs(math.Exp(test.High)/r.High-1) > 1e-9 {
				t.Fatalf("%+v, that of the ratio %+v", test, r)
			}
			if test.Inside <= 0.05 {
				inside += 1.0 / times
			}
			if test.Outside <= 0.05 {
				outside += 1.0 / times
			}
			last = test
		}
		last.Mean, last.deviation = math.Log(ratio), deviation*math.Sqrt2 // the true ones
		return inside, outside, RoundsNeeded([]RangeTest{last}, 0.05, 0.05)
	}
	margin := 6 * math.Sqrt(0.05*0.95/times)
	for _, n := range []int{3, 6, 20} {
		if inside, outside, _ := decided(n, 0.95); inside > 0.05+margin || outside > 0.05+margin {
			t.Errorf("seed %d, %d values at the end of the range: %.3f inside, %.3f outside", seed, n, inside, outside)
		}
	}
	for _, ratio := range []float64{0.97, 0.93} {
		_, _, needed := decided(6, ratio)
		inside, outside, _ := decided(needed, ratio)
		right, wrong := inside, outside
		if ratio < 0.95 {
			right, wrong = outside, inside
		}
		if right < 0.7 || wrong > 0.01 || needed < 4 || needed > 100 {
			t.Errorf("seed %d, %d values of a ratio of %v: right in %.3f, wrong in %.4f", seed, needed, ratio, right, wrong)
		}
	}
	if test, ok := RatioInRange([]float64{1, 2}, []float64{4, 2}, from, to); ok || math.Abs(math.Exp(test.Mean)-2) > 1e-9 {
		t.Errorf("two values: %+v, %v", test, ok)
	}
}
