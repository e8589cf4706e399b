package loadgen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/engine"
	"kvlab/metrics"
	"kvlab/workload"
)

// paused is an engine that pauses once in a run, as a stopped server does.
type paused struct {
	kvs.Engine
	begins, ends time.Time
}

func (p paused) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if now := time.Now(); now.After(p.begins) && now.Before(p.ends) {
		time.Sleep(p.ends.Sub(now))
	}
	p.Engine.Apply(ops, reply)
}

// The faults that a history may have, one each; a cut ends the run.
var historyFaults = []string{"none", "cut", "paused", "slow link"}

// For any engine, batch, workers and keys, and with at most one fault, a correct store
// is linearizable, and the check finds that. With KVLAB_LONG=1 there are 100 histories
// without a fault and 102 with one.
func TestHistories(t *testing.T) {
	plain, faulty := 6, 3
	if long() {
		plain, faulty = 100, 102
	}
	var sum metrics.Check
	for i := range plain + faulty {
		fault := historyFaults[0]
		if i >= plain {
			fault = historyFaults[1+i%3]
		}
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 0))
		name := engine.Names[i%len(engine.Names)]
		t.Run(fmt.Sprintf("%s %s %d", name, fault, seed), func(t *testing.T) {
			found := runRecorded(t, name, fault, random)
			if found.Illegal+found.Order+found.Unknown > 0 {
				t.Errorf("%s %s", found.Text(), found.Fault())
			}
			sum.Ops += found.Ops
			sum.Slices += found.Slices
			sum.Illegal += found.Illegal + found.Order
			sum.Unknown += found.Unknown
		})
	}
	t.Logf("%d histories without a fault and %d with one: %d operations in %d slices, %d illegal, %d unknown",
		plain, faulty, sum.Ops, sum.Slices, sum.Illegal, sum.Unknown)
	if sum.Slices < plain {
		t.Errorf("%d slices were verified", sum.Slices)
	}
}

// runRecorded runs one client with a fault, and returns its check. Without a cut it measures
// again, for longer, until an operation is recorded: on a busy machine a window may have none.
func runRecorded(t *testing.T, name, fault string, random *rand.Rand) metrics.Check {
	c, s, slow := historyRun(t, name, fault, random)
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer strike(fault, s, slow, random)()
	for ; ; g.config.Window *= 2 {
		err := within(t, "Measure", func() error { return g.Measure(context.Background(), func(metrics.Phase) error { return nil }) })
		if (err != nil) != (fault == "cut") {
			t.Errorf("error %v with the fault %q", err, fault)
		}
		if found := *g.Summary().Check; err != nil || found.Ops > 0 {
			return found
		}
	}
}

// untilCut is a window that only a cut ends.
const untilCut = time.Hour

// historyRun returns a random run, its store, and the store's engine.
func historyRun(t *testing.T, name, fault string, random *rand.Rand) (Config, *store, *paused) {
	t.Helper()
	e, err := engine.Open(name, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := checked()
	c.Workload.Seed = random.Uint64()
	row, err := engine.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	switch kind := random.IntN(6); {
	case kind < 3:
		c.Workload.Workload = []string{workload.YCSBA, workload.YCSBB, workload.YCSBF}[kind]
	case kind == 3:
		c.Workload.Workload = workload.YCSBD
	case row.CheckKinds([]kvs.Kind{kvs.Scan}) == nil:
		mixed(&c, 0.3, 0.1, 0.1, 0.2)
	default:
		mixed(&c, 0.4, 0.1, 0.2, workload.StandardMix)
	}
	c.Workload.Records = uint64(10 + random.IntN(11))
	c.Workers = 8 + random.IntN(9)
	c.Batch = []int{1, 20, 600}[random.IntN(3)] // 600 is more than the server decodes at a time
	c.InFlight = 1 + random.IntN(4)
	c.CRC = random.IntN(2) == 0
	if row.Versions {
		c.Cached = drawCache(t, random)
	}
	switch fault {
	case "paused", "slow link":
		c.Window = 100 * time.Millisecond // see strike
	case "cut":
		c.Window = untilCut
	}
	slow := &paused{Engine: e}
	model := models[random.IntN(len(models))]
	t.Logf("model %s", model)
	s := newStoreWith(t, "127.0.0.1:0", "server0", c.Codec, slow, model)
	c.Hosts = []string{s.addr}
	if fault == "slow link" {
		delay := faultproxy.Fault{Kind: faultproxy.Delay, Way: faultproxy.Way(random.IntN(2)), Delay: time.Millisecond, Jitter: 10 * time.Millisecond}
		proxy := faultproxy.Start(t, s.addr, func(int) []faultproxy.Fault { return []faultproxy.Fault{delay} })
		c.Hosts = []string{proxy.Addr()}
	}
	return c, s, slow
}

// drawCache draws a cache: none, one for some of brief's values, or one for all.
func drawCache(t *testing.T, random *rand.Rand) cache.Size {
	size := []cache.Size{0, 2 << 10, cache.All}[random.IntN(3)]
	t.Logf("cache %s", &size)
	return size
}

// strike makes the fault happen soon, unless stop is called first.
func strike(fault string, s *store, slow *paused, random *rand.Rand) (stop func() bool) {
	when := 30*time.Millisecond + time.Duration(random.IntN(60))*time.Millisecond
	switch fault {
	case "cut":
		return time.AfterFunc(when, s.Cut).Stop
	case "paused":
		slow.begins = time.Now().Add(when)
		slow.ends = slow.begins.Add(50 * time.Millisecond)
	}
	return func() bool { return true }
}
