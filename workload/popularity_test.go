package workload

import (
	"fmt"
	"math"
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
