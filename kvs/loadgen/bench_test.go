package loadgen

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"kvlab/metrics/latency"
	"kvlab/metrics/stats"
	"kvlab/workload"
)

// BenchmarkRound measures the client's half of an operation up to the send. The part
// route draws it, makes its key and hash, and finds the key's server; all also encodes
// it in its batch, with its value if it writes.
//
// Each iteration is a round, and then the same number of steps of a chain, whose time
// separates the machine's state from the code's: x-step is the operation in steps. It
// compares the fastest twentieth of each, because other work on a core only adds time;
// ns/drawn-op is the median.
func BenchmarkRound(b *testing.B) {
	parts := []struct {
		name string
		add  func(*worker, *round, []workload.Op)
	}{
		{"route", func(w *worker, _ *round, ops []workload.Op) {
			w.keyTable.Fill(ops, w.block.suffixes[:], w.block.hashes[:], w.block.kinds[:])
			if len(w.servers) > 1 {
				w.route(len(ops))
			}
		}},
		{"all", (*worker).add},
	}
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
		for _, part := range parts {
			b.Run(fmt.Sprintf("servers=%d/router=%s/part=%s", test.servers, test.router, part.name), func(b *testing.B) {
				benchmarkRound(b, c, part.add)
			})
		}
	}
}

func benchmarkRound(b *testing.B, c Config, add func(*worker, *round, []workload.Op)) {
	b.Helper()
	w := benchWorker(b, c)
	b.ReportAllocs()
	var ops, steps []float64 // ns each
	state := uint64(1)
	for b.Loop() {
		begun := time.Now()
		w.rounds[0].begin()
		w.rounds[0].empty()
		for range c.Batch / drawn {
			w.fill(w.block.ops[:])
			add(w, &w.rounds[0], w.block.ops[:])
		}
		done := time.Now()
		state = chain(state, c.Batch)
		steps = append(steps, float64(time.Since(done))/float64(c.Batch))
		ops = append(ops, float64(done.Sub(begun))/float64(c.Batch))
	}
	if state == 0 {
		b.Error("the chain has ended")
	}
	b.ReportMetric(stats.Median(ops), "ns/drawn-op")
	op, step := fastest(ops), fastest(steps)
	b.ReportMetric(op, "fastest-ns/drawn-op")
	b.ReportMetric(step, "ns/step")
	b.ReportMetric(op/step, "x-step")
}

// fastest returns the longest of the shortest twentieth part.
func fastest(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/20]
}

// chain takes n steps that depend on each other: a rotation, an exclusive or and a
// multiplication, 5 cycles on the processors of the last ten years.
func chain(state uint64, n int) uint64 {
	for i := range uint64(n) {
		state = (bits.RotateLeft64(state, 29) ^ i) * 0x9e3779b97f4a7c15
	}
	return state
}

// benchWorker returns a worker of a client that is not connected.
func benchWorker(tb testing.TB, c Config) *worker {
	tb.Helper()
	plan, err := workload.New(c.Workload)
	if err != nil {
		tb.Fatal(err)
	}
	router, err := c.router(plan)
	if err != nil {
		tb.Fatal(err)
	}
	return newWorker(c, 0, plan, c.keyTable(plan), c.ValueSize.Values(c.Workload.Seed), router, new(latency.Recorder))
}
