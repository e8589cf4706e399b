package experiment

import (
	"math"
	"math/rand/v2"
	"testing"
)

// search tries a synthetic store until the search is over.
func search(t *testing.T, first float64, keeps func(rate float64) bool) (kept, broken float64, steps int) {
	t.Helper()
	r := new(rates)
	for rate := first; rate != 0; rate = r.next(steps) {
		if rate < 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
			t.Fatalf("step %d tries the rate %v", steps, rate)
		}
		r.learn(rate, keeps(rate))
		if steps++; steps > mostSteps {
			t.Fatalf("more than %d steps", mostSteps)
		}
	}
	return r.kept, r.broken, steps
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

// A store whose promise hangs on luck near its limit gives a rate that it did
// keep, below one that it broke.
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
		if !tried[kept] || tried[broken] || broken <= kept || broken > kept*(1+near) || kept < limit/1.3 || kept > limit*1.3 {
			t.Fatalf("kept %v, broken %v", kept, broken)
		}
	}
}

func TestParseSearch(t *testing.T) {
	if got, err := ParseSearch("p99.9=500us"); err != nil || got.String() != "p99.9=500µs" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"", "p99", "p99=", "p99=5", "p98=5ms", "p99=-1ms", "p99=0s", "=5ms", "p99=5ms,p50=1ms"} {
		if got, err := ParseSearch(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}
