package loadgen

import (
	"slices"
	"testing"

	"kvlab/workload"
)

// Two generators have equal prefixes up to the shorter one's operations, even with
// different batches and workers' speeds, and none with another seed.
func TestGeneratorPrefixes(t *testing.T) {
	prefixes := func(seed uint64, batch, ops int) []string {
		c := small()
		c.Workload.Seed, c.Batch = seed, batch
		g, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range g.workers {
			for n := 0; n < ops+i; n += batch {
				w.source.Fill(make([]workload.Op, batch))
			}
		}
		return g.prefixDigests()
	}
	long, short, other := prefixes(1, 7, 5000), prefixes(1, 100, 1100), prefixes(2, 100, 1100)
	if len(long) != 13 || len(short) != 11 || !slices.Equal(long[:11], short) {
		t.Errorf("the same seed: %q and %q", long, short)
	}
	for k, digest := range other {
		if k >= 4 && digest == short[k] { // a few operations are the same by chance
			t.Errorf("seeds 1 and 2 share the first %d operations", 1<<k)
		}
	}
}
