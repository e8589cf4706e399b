package verdict

import (
	"testing"

	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// The bytes of drawn values are never below their bound, which is near them when they are
// many. With equal sizes it is their sum.
func TestValueSizesBound(t *testing.T) {
	for _, test := range []struct {
		values  string
		records string
		near    float64 // the least share of the bytes that the bound is, of 10^6 values
	}{{"128", "1000", 1}, {"24-1024", "1000", 0.98}, {"24-1024", "1100000", 0.97}, {"etc", "1000", 0.9}} {
		flags := metrics.Settings{"value-size": test.values, "records": test.records, "seed": "5"}
		e, err := expect(flags, 1)
		if err != nil {
			t.Fatal(err)
		}
		var law size.Law
		if err := law.Set(test.values); err != nil {
			t.Fatal(err)
		}
		sizes := law.Values(5)
		bound := drawnSizes(&judged{expected: e}, sizes)
		source := e.plan.Source(workload.Place{Nodes: 1, Workers: 1})
		ops := make([]workload.Op, 1_000_000)
		source.Fill(ops)
		_, _, keys, _ := work.Of(flags)
		sum, key := uint64(0), []byte(nil)
		for i, op := range ops {
			var hash uint64
			key, hash = keys.Append(key[:0], op.Key)
			sum += uint64(sizes.At(hash))
			if n := uint64(i + 1); bound.bytes(n) > sum {
				t.Fatalf("%s: %d values have %d bytes, at least %d are expected", test.values, n, sum, bound.bytes(n))
			}
		}
		if share := float64(bound.bytes(1_000_000)) / float64(sum); share < test.near {
			t.Errorf("%s of %s records: the bound is %.4f of the bytes, want %g", test.values, test.records, share, test.near)
		} else {
			t.Logf("%s of %s records: the bound is %.4f of the bytes", test.values, test.records, share)
		}
	}
}
