package stats

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Samples of a law fit it, whatever their size; samples of one that differs by a
// tenth in half of its cells do not, once they are large.
func TestFit(t *testing.T) {
	const cells = 64
	shares, other := make([]float64, cells), make([]float64, cells)
	for i := range shares {
		shares[i] = 1 / float64(i+1)
		other[i] = shares[i] * (1 + 0.1*float64(i%2))
	}
	for seed := range uint64(60) {
		source := rand.NewPCG(seed, 1)
		right, wrong := distuv.NewCategorical(shares, source), distuv.NewCategorical(other, source)
		var honest, liar Fit
		n := 100 << (seed % 9)
		counts, spoilt := make([]uint64, cells), make([]uint64, cells)
		for range n {
			counts[int(right.Rand())]++
		}
		for range 100_000 {
			spoilt[int(wrong.Rand())]++
		}
		honest.Add(counts, shares, 0)
		liar.Add(spoilt, shares, 0)
		if !honest.Fits() {
			t.Errorf("seed %d: %d draws of the law do not fit it: %+v, limit %.1f", seed, n, honest, honest.Limit())
		}
		if liar.Fits() {
			t.Errorf("seed %d: draws of another law fit: %+v, limit %.1f", seed, liar, liar.Limit())
		}
	}
}
