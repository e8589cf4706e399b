package loadgen

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/metrics/stats"
)

// BenchmarkChecks measures the processor time of whole operations, client and server in
// one process, with the default checks of values and the last writes that the audit
// remembers, as a multiple of the time without them. An iteration is a round of every
// worker with each, on the same connections, so that other work on the machine affects
// both. The interval of the median shows how much pairs vary.
func BenchmarkChecks(b *testing.B) {
	for _, transport := range []string{driver.InProcess, driver.TCP} {
		b.Run("transport="+transport, func(b *testing.B) {
			c := DefaultConfig()
			c.Transport, c.Engine = transport, "slab"
			if transport == driver.TCP {
				slab, err := engine.Open("slab", engine.Options{})
				if err != nil {
					b.Fatal(err)
				}
				c.Hosts = []string{newStore(b, "server0", c.Codec, slab).addr}
			}
			g, err := New(c)
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			if err := errors.Join(g.Connect(b.Context()), g.Load(b.Context())); err != nil {
				b.Fatal(err)
			}
			g.Secret = 1
			if err := g.prepare(); err != nil {
				b.Fatal(err)
			}
			benchmarkChecks(b, g)
		})
	}
}

func benchmarkChecks(b *testing.B, g *Generator) {
	s := fixed(time.Now(), time.Now().Add(time.Hour))
	var ratios []float64
	var total [2]float64
	for b.Loop() {
		var cost [2]float64
		first := len(ratios) % 2 // in turn
		for _, i := range []int{first, 1 - first} {
			before := processorTime(b)
			if err := g.everyRound(i == 1, s); err != nil {
				b.Fatal(err)
			}
			cost[i] = float64(processorTime(b) - before)
			total[i] += cost[i]
		}
		ratios = append(ratios, cost[1]/cost[0])
	}
	b.ReportMetric(total[1]/float64(len(ratios)*g.config.Workers*g.config.Batch), "cpu-ns/operation")
	b.ReportMetric(total[1]/total[0], "x-without")
	if e, ok := stats.MedianInterval(ratios, 0.95); ok {
		b.ReportMetric(e.Median, "x-median")
		b.ReportMetric(e.Low, "x-low")
		b.ReportMetric(e.High, "x-high")
	}
	for _, w := range g.workers {
		if w.verify.Failures > 0 || w.verify.Compared == 0 || w.verify.Unchecked == 0 {
			b.Errorf("worker %d: %+v", w.id, w.verify)
		}
	}
}

// everyRound has each worker do one round, with the checks or without them.
func (g *Generator) everyRound(checks bool, s schedule) error {
	var group errgroup.Group
	for _, w := range g.workers {
		group.Go(func() error {
			w.checker.Every, w.audited = VerifyNone, nil
			if checks {
				w.checker.Every, w.audited = g.config.Verify, g.audited
			}
			r := &w.rounds[0]
			r.begin()
			r.empty()
			for range g.config.Batch / drawn {
				w.source.Fill(w.block.ops[:])
				w.add(r, w.block.ops[:])
			}
			w.send(r)
			return w.finish(r, s.at)
		})
	}
	return group.Wait()
}

// processorTime returns the processor time that this process has used.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(t.Nano())
}
