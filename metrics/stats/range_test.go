package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// normals returns n logarithms around a mean.
func normals(rng *rand.Rand, n int, mean, deviation float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = mean + deviation*rng.NormFloat64()
	}
	return values
}

// The p values say what the intervals say.
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
		test := MeanOf(values).In(from, to)
		low90, high90 := test.Interval(0.9)
		low, high := test.Interval(0.95)
		within := low90 > from && high90 < to
		if math.IsInf(from, -1) || math.IsInf(to, 1) {
			low, high = low90, high90
		}
		beyond := high < from || low > to
		outcome := Undecided
		switch {
		case within:
			outcome = Inside
		case beyond && high < from:
			outcome = Below
		case beyond:
			outcome = Above
		}
		if test.Outcome(0.05) != outcome || within != (test.Inside < 0.05) || beyond != (test.Outside < 0.05) || test.Inside < 0.05 && test.Outside < 0.05 {
			t.Fatalf("%v from %v to %v: %+v", values, from, to, test)
		}
		if within {
			inside++
		}
		if beyond {
			outside++
		}
	}
	if inside < 100 || outside < 100 {
		t.Errorf("%d inside, %d outside: the test tests nothing", inside, outside)
	}
}

// rates returns how often tests of n values, whose means are these, say inside and outside.
func rates(rng *rand.Rand, times, n int, deviation, alpha, from, to float64, means ...float64) (inside, outside float64) {
	for range times {
		var tests []RangeTest
		for _, mean := range means {
			tests = append(tests, MeanOf(normals(rng, n, mean, deviation)).In(from, to))
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
		if test := MeanOf(values).In(0, none); test.Known || test.Inside != 1 || test.Outside != 1 || (test.Mean() == 0) != (len(values) == 0) || test.Outcome(0.05) != Undecided {
			t.Errorf("%v: %+v", values, test)
		}
	}
	for _, test := range []struct {
		value, inside, outside float64
	}{{0.5, 0, 1}, {1, 0, 1}, {1.5, 1, 0}} {
		got := MeanOf([]float64{test.value, test.value, test.value}).In(-none, 1)
		if got.Inside != test.inside || got.Outside != test.outside || RoundsNeeded([]RangeTest{got}, 0.05, 0.05) != 3 {
			t.Errorf("constant %v: %+v", test.value, got)
		}
	}
}

// planned returns a test of values that are still to be measured.
func planned(mean, from, to, deviation float64) RangeTest {
	return RangeTest{Comparison: Comparison{estimate: estimate{mean: mean}, deviation: deviation}, from: from, to: to}
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
			tests = append(tests, planned(mean, test.from, test.to, deviation))
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
	one := planned(0.02, 0, 0, 0.02*math.Sqrt2)
	if n := RoundsNeeded([]RangeTest{one}, 0.05, 0.05); n < 17 || n > 19 {
		t.Errorf("%d rounds, want 18", n)
	}
	if n := RoundsNeeded([]RangeTest{planned(0, 0, none, 1)}, 0.05, 0.05); n != 0 {
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
			p = append(p, MeanOf(normals(rng, 6, mean, 0.1)).In(0, math.Inf(1)).Outside)
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

// Of samples that were not measured in pairs, at most 5 % are inside at 5 % whose true ratio is
// at an end of the range, and at most 5 % outside that are within. Nearly all are told whose
// spread is small against the range, and the number of values that RoundsNeeded plans decides.
func TestCompareErrors(t *testing.T) {
	const times, seed, alpha = 2000, 17, 0.05
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	none := math.Inf(1)
	few, never, most, all := [2]float64{0, alpha}, [2]float64{0, 0.01}, [2]float64{0.99, 1}, [2]float64{0, 1}
	for _, test := range []struct {
		how             Sampling
		a, b            int // values; of b, 0 is the number that is needed
		ratio, spread   float64
		from, to        float64    // of the ratio
		inside, outside [2]float64 // bounds of the shares
	}{
		{Apart, 3, 3, 0.95, 0.02, 0.95, none, few, few},
		{Apart, 6, 6, 0.95, 0.02, 0.95, none, few, few},
		{Apart, 20, 20, 0.95, 0.02, 0.95, none, few, few},
		{Apart, 6, 0, 0.97, 0.02, 0.95, none, [2]float64{0.7, 1}, never},
		{Apart, 6, 0, 0.93, 0.02, 0.95, none, never, [2]float64{0.7, 1}},
		{Again, 1, 6, 1.1, 0.02, 1 / 1.1, 1.1, few, few},
		{Again, 6, 6, 1.1, 0.02, 1 / 1.1, 1.1, few, few},
		{Again, 6, 2, 1 / 1.1, 0.02, 1 / 1.1, 1.1, few, few},
		{Again, 6, 10, 1, 0.05, 1 / 1.1, 1.1, all, never},
		{Again, 1, 6, 1, 0.01, 1 / 1.1, 1.1, most, never},
		{Again, 6, 6, 1, 0.02, 1 / 1.1, 1.1, most, never},
		{Again, 6, 6, 1.3, 0.02, 1 / 1.1, 1.1, never, most},
		{Again, 2, 6, 0.7, 0.02, 1 / 1.1, 1.1, never, most},
	} {
		from, to := math.Log(test.from), math.Log(test.to)
		if test.b == 0 {
			test.a = RoundsNeeded([]RangeTest{planned(math.Log(test.ratio), from, to, test.spread*math.Sqrt2)}, alpha, alpha)
			test.b = test.a
		}
		var inside, outside float64
		for range times {
			c := Compare(sample(rng, test.a, 10, test.spread), sample(rng, test.b, 10*test.ratio, test.spread), test.how)
			switch got := c.In(from, to); got.Outcome(alpha) {
			case Inside:
				inside += 1.0 / times
			case Below, Above:
				outside += 1.0 / times
			case Undecided:
				if !c.Known {
					t.Fatalf("%+v: %+v has no interval", test, got)
				}
			}
		}
		for i, share := range []float64{inside, outside} {
			bounds, slack := [][2]float64{test.inside, test.outside}[i], 6*math.Sqrt(alpha*(1-alpha)/times)
			if share < bounds[0]-slack || share > bounds[1]+slack {
				t.Errorf("%+v: %s in %.4f", test, []string{"inside", "outside"}[i], share)
			}
		}
	}
}
