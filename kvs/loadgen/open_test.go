package loadgen

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/metrics"
	"kvlab/workload"
)

// open returns a small run of an open loop with a rate that any machine achieves.
func open(rate float64) Config {
	c := small()
	c.Workers, c.Rate.OpsPerS, c.WarmUp, c.Window = 4, rate, 100*time.Millisecond, time.Second
	return c
}

// measured runs one client against its hosts, and returns its summary with the
// window's latencies.
func measured(t *testing.T, c Config) (metrics.Summary, *Generator) {
	t.Helper()
	g, err := tried(t, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Latency().Collect(0, 1); err != nil {
		t.Fatal(err)
	}
	return g.Summary(), g
}

// tried returns a generator that has loaded and measured, with the error of Measure.
func tried(t *testing.T, c Config) (*Generator, error) {
	t.Helper()
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return g, within(t, "Measure", func() error {
		return g.Measure(context.Background(), func(metrics.Phase) error { return nil })
	})
}

// A store that does not keep up is saturated, with the achieved share, and has no
// percentiles.
func TestOpenLoopSaturates(t *testing.T) {
	t.Parallel()
	c := open(20_000)
	c.Batch, c.Workload.Records = 1, 50 // one operation a call, and 1 ms or more for each
	c.CallTimeout = 2 * time.Second     // ends the drain
	c.Hosts = []string{newStore(t, "server0", "binary", slowly{engine.NewMutex()}).addr}
	s, _ := measured(t, c)
	share := s.Offered.Achieved(s.InWindow.Ops())
	if share > 0.5 || s.Latency[metrics.OpLatency].Refused == "" || s.Latency[metrics.OpLatency].P50 != nil {
		t.Errorf("%.3f of the rate achieved, latency %v; want it to be refused", share, s.Latency[metrics.OpLatency])
	}
	if n := float64(s.Offered.Ops); math.Abs(n-20_000) > 5*math.Sqrt(20_000) {
		t.Errorf("%v operations were due, want 20,000: those that were not sent too", n)
	}
}

// slowly takes a millisecond for every batch.
type slowly struct{ kvs.Engine }

func (s slowly) Apply(ops []kvs.Op, reply *kvs.Reply) {
	time.Sleep(time.Millisecond)
	s.Engine.Apply(ops, reply)
}

// A closed loop measures the peak, and the open loop offers its share of it.
func TestOpenLoopAtAShareOfThePeak(t *testing.T) {
	t.Parallel()
	c := small()
	c.Rate.Share, c.WarmUp, c.Batch = 0.2, 400*time.Millisecond, 4
	_, c.Hosts = newStores(t, 1, "binary")
	g, err := tried(t, c)
	for ; err != nil && strings.Contains(err.Error(), "want a longer -warmup") && c.WarmUp < 30*time.Second; g, err = tried(t, c) {
		c.WarmUp *= 4 // the machine is busy
		_, c.Hosts = newStores(t, 1, "binary")
	}
	if err != nil {
		t.Fatal(err)
	}
	o := g.Summary().Offered
	if o.PeakOpsPerS <= 0 || math.Abs(o.OpsPerS/o.PeakOpsPerS-0.2) > 1e-9 {
		t.Errorf("offered %+v, want a fifth of a peak", o)
	}
	if n, want := float64(o.Ops), o.OpsPerS*c.Window.Seconds(); math.Abs(n-want) > 5*math.Sqrt(want) {
		t.Errorf("%v operations were due in %v, want %v", n, c.Window, want)
	}
}

// Every operation's due time is with its server's exchange, for short and long ids.
func TestEachOperationKeepsItsMoment(t *testing.T) {
	for _, first := range []uint64{0, 1 << 39} {
		c := small()
		c.Workload.Records, c.Hosts = first+1000, []string{"a:1", "b:1", "c:1"}
		g, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		w, r := g.workers[0], &g.workers[0].rounds[0]
		r.empty()
		ops, due, want := make([]workload.Op, 300), make([]time.Duration, 300), map[int][]time.Duration{}
		for i := range ops {
			ops[i], due[i] = workload.Op{Key: first + uint64(i)}, time.Duration(1000+i)
			server := w.router.Server(w.keys.key(ops[i].Key))
			want[server] = append(want[server], due[i])
		}
		w.addEach(r, ops[:100], due[:100])
		w.addEach(r, ops[100:], due[100:])
		for i := range r.exchanges {
			x := &r.exchanges[i]
			if fmt.Sprint(x.due) != fmt.Sprint(want[i]) || x.batch.Len() != len(x.due) {
				t.Errorf("records from %d, server %d: %d operations due at %v, want %v", first, i, x.batch.Len(), x.due, want[i])
			}
		}
	}
}
