package loadgen

import (
	"math"
	"testing"

	"kvlab/kvs"
	"kvlab/workload"
)

// A run with any law of sizes verifies every value in full, and its calls carry the bytes
// that the records' sizes and popularities predict.
func TestSizes(t *testing.T) {
	for _, test := range []struct{ values, keys string }{{"24-1024", ""}, {"etc", ""}, {"100", "etc"}, {"etc", "16-40"}} {
		t.Run(test.values+","+test.keys, func(t *testing.T) {
			c := trialOf(4)
			c.Workload.Workload, c.Verify = workload.YCSBA, 1
			if err := c.ValueSize.Set(test.values); err != nil {
				t.Fatal(err)
			}
			if err := c.KeySize.Set(test.keys); err != nil {
				t.Fatal(err)
			}
			run, err := trial(t, c, mistake{ops: many})
			if err != nil {
				t.Fatal(err)
			}
			if run.Audit.Fault() != "" {
				t.Error(run.Audit.Fault())
			}
			s := run.Nodes[0].Summary
			if v := s.Verification; v.Failures > 0 || v.Compared != v.Checked || v.Checked != s.Total.Hits {
				t.Errorf("verification %+v of %d hits", v, s.Total.Hits)
			}
			plan, err := workload.New(c.Workload)
			if err != nil {
				t.Fatal(err)
			}
			keys, sizes := newKeys(c.keys()), c.ValueSize.Values(c.Workload.Seed)
			key, value, square := 0.0, 0.0, 0.0 // means of an operation
			for rank := range c.Workload.Records {
				text, hash := keys.key(plan.Key(rank))
				bytes := float64(sizes.At(hash))
				key, value, square = key+plan.Mass(rank)*float64(len(text)), value+plan.Mass(rank)*bytes, square+plan.Mass(rank)*bytes*bytes
			}
			// Every kind and length has one to three bytes besides.
			ops, puts, gets := float64(s.InWindow.Ops()), float64(s.InWindow.Puts), float64(s.InWindow.Gets)
			chance := 6 * math.Sqrt(ops*(square+kvs.MaxKeyLen*kvs.MaxKeyLen))
			for _, way := range []struct {
				name               string
				bytes, least, most float64
			}{
				{"sent", float64(s.BytesInWindow.Sent), ops*(key+2) + puts*(value+1), ops*(key+2) + puts*(value+3)},
				{"received", float64(s.BytesInWindow.Received), gets * value, ops + gets*(value+3)},
			} {
				if way.bytes < way.least-chance || way.bytes > way.most+chance {
					t.Errorf("%.0f bytes %s, want %.0f to %.0f, give or take %.0f", way.bytes, way.name, way.least, way.most, chance)
				}
				t.Logf("%s: %.1f to %.1f bytes an operation expected, %.1f", way.name, way.least/ops, way.most/ops, way.bytes/ops)
			}
		})
	}
}
