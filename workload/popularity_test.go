package workload

import (
	"slices"
	"testing"
)

// A sample has the popular records and as many of each range of ranks, rising, without
// repetition, and another one for another secret.
func TestSample(t *testing.T) {
	for _, records := range []uint64{1, 2, 7, 1000, 1_000_000, MaxRecords} {
		c := DefaultConfig()
		c.Records = records
		plan, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		const each = 100
		ranks := plan.Sample(7, each)
		counts := make(map[int]uint64) // by range
		for i, r := range ranks {
			if r >= records || i > 0 && r <= ranks[i-1] {
				t.Fatalf("%d records: rank %d after %d", records, r, ranks[max(0, i-1)])
			}
			at := 0
			for r+1 >= 2<<at {
				at++
			}
			counts[at]++
		}
		for at, first := 0, uint64(0); first < records; at, first = at+1, 2*first+1 {
			if want := min(each, first+1, records-first); counts[at] != want {
				t.Errorf("%d records: %d ranks from %d on, want %d", records, counts[at], first, want)
			}
		}
		if other := plan.Sample(8, each); slices.Equal(ranks, other) != (records <= 1000 && len(ranks) == int(records)) {
			t.Errorf("%d records: another secret has the same sample: %v", records, slices.Equal(ranks, other))
		}
	}
}

// Every record of a range is as likely as any other.
func TestSampleIsUniform(t *testing.T) {
	c := DefaultConfig()
	c.Records = 1000
	plan, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	const secrets, each = 4000, 10
	counts := make([]float64, c.Records)
	for secret := range uint64(secrets) {
		for _, r := range plan.Sample(secret, each) {
			counts[r]++
		}
	}
	for r := uint64(127); r < 255; r++ {
		if want := secrets * each / 128.0; counts[r] < want*0.6 || counts[r] > want*1.4 {
			t.Errorf("rank %d is in %v of %d samples, want %v", r, counts[r], secrets, want)
		}
	}
}
