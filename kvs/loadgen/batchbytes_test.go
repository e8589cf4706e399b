package loadgen

import (
	"fmt"
	"testing"

	"kvlab/kvs"
	"kvlab/workload"
)

// A round of -batch-bytes ends with the operation with which a slow oracle ends it, which
// adds one operation at a time and looks at all that it has added.
func TestBatchBytes(t *testing.T) {
	for _, test := range []struct {
		servers, batch, limit, prefix int
		workload, sizes               string
	}{
		{1, 8192, 64 << 10, 0, "YCSB-B", "128"},
		{3, 8192, 64 << 10, 0, "YCSB-B", "128"},
		{4, 8192, 1 << 20, 0, "YCSB-A", "24-4096"},
		{2, 8192, 10_000, 12, "YCSB-F", "24-4096"},
		{2, 100, 64 << 10, 0, "YCSB-C", "etc"},
		{2, 8192, 1, 0, "YCSB-A", "128"},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			c := DefaultConfig()
			c.Hosts = make([]string, test.servers)
			for i := range c.Hosts {
				c.Hosts[i] = "127.0.0.1:1"
			}
			c.Workload.Records, c.Batch, c.KeyPrefix = 5000, test.batch, "user-of-today"[:test.prefix]
			c.Workload.Workload = test.workload
			if err := c.ValueSize.Set(test.sizes); err != nil {
				t.Fatal(err)
			}
			slow := benchWorker(t, c)
			c.BatchBytes = test.limit
			fast := benchWorker(t, c)
			size := newBatchSize(c)
			for range 10 {
				fast.rounds[0].begin()
				fast.draw(&fast.rounds[0], size.Ops(), false)
				slow.rounds[0].begin()
				want := drawSlowly(slow, test.limit, size.Ops())
				got := 0
				for i := range fast.rounds[0].exchanges {
					got += fast.rounds[0].exchanges[i].ops()
				}
				if got != want {
					t.Fatalf("%d operations in a round, want %d", got, want)
				}
			}
		})
	}
}

// drawSlowly draws a round of at most most operations and returns their number.
func drawSlowly(w *worker, limit, most int) (n int) {
	r := &w.rounds[0]
	r.empty()
	for ; n < most; n++ {
		for i := range r.exchanges {
			x := &r.exchanges[i]
			values := 0
			for j, kind := range x.kinds {
				if kind == kvs.Get || kind == kvs.ReadModifyWrite {
					values += w.sizes.At(x.hashes[j])
				}
			}
			if max(values, x.batch.Size()) >= limit {
				return n
			}
		}
		var op [1]workload.Op
		w.source.Fill(op[:])
		w.add(r, op[:])
	}
	return n
}
