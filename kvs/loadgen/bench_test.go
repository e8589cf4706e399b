package loadgen

import (
	"fmt"
	"testing"

	"kvlab/metrics"
	"kvlab/workload"
)

// BenchmarkRound is the client's half of an operation up to the send: draw it,
// write its key, hash it, route it, and put it into its batch.
func BenchmarkRound(b *testing.B) {
	for _, test := range []struct {
		servers int
		router  string
	}{{1, "fnv"}, {4, "fnv"}, {4, "balanced"}} {
		c := DefaultConfig()
		c.Router = test.router
		c.Hosts = make([]string, test.servers)
		for i := range c.Hosts {
			c.Hosts[i] = "127.0.0.1:1"
		}
		b.Run(fmt.Sprintf("servers=%d/router=%s", test.servers, test.router), func(b *testing.B) {
			w := benchWorker(b, c)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if n%(c.Batch/drawn) == 0 {
					w.rounds[0].begin()
				}
				w.source.Fill(w.block.ops[:])
				w.add(&w.rounds[0], w.block.ops[:])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/drawn, "ns/drawn-op")
		})
	}
}

// benchWorker returns a worker of a client that is not connected.
func benchWorker(tb testing.TB, c Config) *worker {
	tb.Helper()
	plan, err := workload.New(c.Workload)
	if err != nil {
		tb.Fatal(err)
	}
	router, err := newRouter(c, plan)
	if err != nil {
		tb.Fatal(err)
	}
	return newWorker(c, 0, plan, newNames(c.KeyPrefix, c.Workload.Records), router, new(metrics.Recorder))
}
