package workload

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Segments follow one another from rank 0 to the last, and a rank's part of its
// segment's weight is its mass.
func TestSegments(t *testing.T) {
	for _, test := range []struct {
		distribution, form string
		theta              float64
		records            uint64
	}{
		{Zipfian, ZipfianYCSB, 0.99, 1},
		{Zipfian, ZipfianYCSB, 0.99, 2},
		{Zipfian, ZipfianYCSB, 0.99, 1_000_000},
		{Zipfian, ZipfianExact, 0.5, 100_000},
		{Latest, ZipfianExact, 1.2, 1_000_000},
		{Uniform, "", 0, 12_345},
		{Sequential, "", 0, 10},
		{Hotspot, "", 0, 12_345},
	} {
		t.Run(fmt.Sprintf("%s/%s/theta=%v/records=%d", test.distribution, test.form, test.theta, test.records), func(t *testing.T) {
			c := DefaultConfig()
			c.Distribution, c.Zipfian, c.Theta, c.Records = test.distribution, test.form, test.theta, test.records
			p, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			next, sum, last := uint64(0), uint64(0), math.Inf(1)
			weights := make(map[uint64]uint64) // by a segment's first rank
			cuts := p.distribution.cuts()
			for i, first := range cuts[:len(cuts)-1] {
				weights[first] = weight(p.distribution.mass(first, cuts[i+1]))
			}
			for _, s := range p.table.segments {
				if s.first != next || s.width == 0 {
					t.Fatalf("segment %+v, want one from rank %d on", s, next)
				}
				next, sum = s.first+s.width, sum+weights[s.first]
				share := math.Ldexp(float64(weights[s.first]), -48) / float64(s.width)
				if share > last*(1+1e-6) {
					t.Fatalf("segment %+v: a rank's share is %g, before it %g", s, share, last)
				}
				last = share
				for _, rank := range []uint64{s.first, s.first + s.width - 1} {
					if mass := p.Mass(rank); math.Abs(share-mass) > 0.002*mass {
						t.Fatalf("segment %+v: a rank's share is %g, the mass of rank %d is %g", s, share, rank, mass)
					}
				}
			}
			if next != test.records {
				t.Errorf("segments end at rank %d, want %d", next, test.records)
			}
			if whole := math.Ldexp(float64(sum), -48); math.Abs(whole-1) > 1e-6 {
				t.Errorf("weights sum to %v, want 1", whole)
			}
		})
	}
}

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
