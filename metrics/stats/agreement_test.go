package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Of many made-up reruns, few are called wrongly: at most 5 % are inside at 5 % whose true ratio
// is at an end of the margin, and at most 5 % outside that are within. Nearly all are told whose
// spread is small against the margin.
func TestAgreeErrors(t *testing.T) {
	const reruns, seed, alpha = 2000, 17, 0.05
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	sample := func(n int, mean, spread float64) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = math.Exp(mean + spread*rng.NormFloat64())
		}
		return values
	}
	few, none, most, all := [2]float64{0, alpha}, [2]float64{0, 0.001}, [2]float64{0.99, 1}, [2]float64{0, 1}
	for _, test := range []struct {
		a, b            int
		ratio, spread   float64
		inside, outside [2]float64 // bounds of the shares
	}{
		{1, 6, 1.1, 0.02, few, few},
		{6, 6, 1.1, 0.02, few, few},
		{6, 2, 1 / 1.1, 0.02, few, few},
		{6, 10, 1, 0.05, all, none},
		{1, 6, 1, 0.01, most, none},
		{6, 6, 1, 0.02, most, none},
		{6, 6, 1.3, 0.02, none, most},
		{2, 6, 0.7, 0.02, none, most},
	} {
		var inside, outside float64
		for range reruns {
			g, ok := Agree(sample(test.a, 2, test.spread), sample(test.b, 2+math.Log(test.ratio), test.spread), 0.1)
			if !ok || g.Low > g.Low90 || g.High < g.High90 || g.Low90 > g.Mean || g.Mean > g.High90 {
				t.Fatalf("%+v: %+v, %v", test, g, ok)
			}
			if g.Inside <= alpha {
				inside++
			}
			if g.Outside <= alpha {
				outside++
			}
		}
		for i, share := range []float64{inside / reruns, outside / reruns} {
			bounds := [][2]float64{test.inside, test.outside}[i]
			slack := 6 * math.Sqrt(alpha*(1-alpha)/reruns)
			if share < bounds[0]-slack || share > bounds[1]+slack {
				t.Errorf("%+v: %s in %.4f", test, []string{"inside", "outside"}[i], share)
			}
		}
	}
}

// Fewer values than an interval needs have a ratio only.
func TestAgreeOfFew(t *testing.T) {
	if g, ok := Agree([]float64{2, 2}, []float64{3}, 0.1); ok || math.Abs(g.Mean-math.Log(1.5)) > 1e-12 || g.Low != 0 {
		t.Errorf("%+v, %v", g, ok)
	}
	if g, ok := Agree([]float64{2}, []float64{2, 2, 2}, 0.1); !ok || g.Inside != 0 || g.Outside != 1 {
		t.Errorf("equal values: %+v, %v", g, ok)
	}
}
