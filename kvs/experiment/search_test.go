package experiment

import (
	"math"
	"math/rand/v2"
	"testing"
)

// search tries a synthetic store until the search is over.
func search(t *testing.T, first float64, keeps func(rate float64) bool) (kept, broken float64, steps int) {
	t.Helper()
	r := &rates{first: first}
	for rate := r.next(0); rate != 0; rate = r.next(steps) {
		if rate < 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
			t.Fatalf("step %d tries the rate %v", steps, rate)
		}
		r.learn(rate, keeps(rate))
		if steps++; steps > mostSteps {
			t.Fatalf("more than %d steps", mostSteps)
		}
	}
	kept, broken = r.around()
	return kept, broken, steps
}

// The p99 of the time in an M/M/1 queue is ln(100)/(mu-lambda) (Kleinrock,
// Queueing Systems I, 1975, section 3.2): the highest rate that keeps it below d is
// mu - ln(100)/d. Wherever the search begins, it ends with that rate between the
// two that it found, which are near.
func TestSearchFindsTheRateOfAQueue(t *testing.T) {
	const mu, d = 1e5, 0.001
	right := mu - math.Log(100)/d
	for _, first := range []float64{0.5 * mu, right, 100, 0.99 * mu, 3 * mu, 50 * mu} {
		kept, broken, steps := search(t, first, func(rate float64) bool { return rate < mu && math.Log(100)/(mu-rate) <= d })
		if kept > right || broken < right || broken > kept*(1+near) || kept == 0 {
			t.Errorf("from %v: kept %v, broken %v, right is %v", first, kept, broken, right)
		}
		// climbing to it by halves of a power of two, then halving the logarithm of at most 2
		if bound := 2*math.Abs(math.Log2(right/first)) + 2 + math.Ceil(math.Log2(math.Ln2/math.Log1p(near))); float64(steps) > bound {
			t.Errorf("from %v: %d steps, want at most %v", first, steps, bound)
		}
	}
}

// A promise that every rate keeps, or none, ends the search all the same, and it
// says which.
func TestSearchEnds(t *testing.T) {
	if kept, broken, steps := search(t, 1000, func(float64) bool { return true }); broken != 0 || kept < 1000*math.Pow(climb, mostSteps-2) || steps != mostSteps {
		t.Errorf("always kept: %v and %v after %d steps", kept, broken, steps)
	}
	if kept, broken, steps := search(t, 1000, func(float64) bool { return false }); kept != 0 || broken != 1000*math.Pow(2, 1-mostDown) || steps != mostDown {
		t.Errorf("never kept: %v and %v after %d steps", kept, broken, steps)
	}
}

// A store that keeps its objective by chance near its limit gives a rate that it did keep,
// below one that it broke.
func TestSearchOfANoisyStore(t *testing.T) {
	const seed, limit = 3, 1e5
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 1000 {
		tried := map[float64]bool{}
		kept, broken, _ := search(t, limit/2, func(rate float64) bool {
			tried[rate] = rate*(0.8+0.4*random.Float64()) < limit
			return tried[rate]
		})
		if !tried[kept] || tried[broken] || broken <= kept || broken > kept*(1+near) || kept < limit/1.4 || kept > limit*1.4 {
			t.Fatalf("kept %v, broken %v", kept, broken)
		}
	}
}

// Of results that contradict each other, the place with the fewest on the wrong side
// counts, the lowest of several.
func TestRatesAround(t *testing.T) {
	for kept, want := range map[string][2]float64{"": {}, "y": {1, 0}, "n": {0, 1}, "yyn": {2, 3}, "nyyyn": {4, 5}, "yynyn": {2, 3}, "yyynyyn": {6, 7}, "nnn": {0, 1}} {
		r := new(rates)
		for i := range len(kept) {
			place := (i*2 + 1) % (len(kept) | 1) // in another order
			if len(kept)%2 == 0 {
				place = i
			}
			r.learn(float64(place+1), kept[place] == 'y')
		}
		if low, high := r.around(); low != want[0] || high != want[1] {
			t.Errorf("%s: %v and %v, want %v", kept, low, high, want)
		}
	}
}
