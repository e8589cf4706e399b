package workload

import (
	"math/rand/v2"
	"testing"
)

// TestPCG holds words, drawn one by one and many at once, against math/rand/v2's PCG.
func TestPCG(t *testing.T) {
	const seed = 12
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	states := []pcg{{}, {^uint64(0), ^uint64(0)}, {0, ^uint64(0)}, {1 << 63, 1}}
	for range 200 {
		states = append(states, pcg{random.Uint64(), random.Uint64()})
	}
	for _, start := range states {
		want := rand.NewPCG(start.hi, start.lo)
		got := start
		for range 20 {
			pairs := make([][2]uint64, random.IntN(3*block))
			got.fill(pairs)
			for i := range pairs {
				if w := [2]uint64{want.Uint64(), want.Uint64()}; pairs[i] != w {
					t.Fatalf("from %x, words %d and %d: %x, not %x", start, 2*i, 2*i+1, pairs[i], w)
				}
			}
			if w := want.Uint64(); got.Uint64() != w {
				t.Fatalf("from %x, a word after %d pairs is not %x", start, len(pairs), w)
			}
		}
	}
}
