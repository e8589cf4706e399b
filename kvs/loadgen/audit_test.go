package loadgen

import (
	"context"
	"math"
	"testing"
	"time"

	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/metrics"
	"kvlab/metrics/stats"
	"kvlab/workload"
)

// A server that loses a hundredth of the puts to a hundredth of the keys escapes the audit
// of a default run with -linearizable once in 10,000 times at 3M operations per second,
// and once in 1,000 at a third of that. The audit fails for a key if it is one of these keys and
// its last put is lost.
func TestAuditPower(t *testing.T) {
	c := DefaultConfig()
	plan, err := workload.New(c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	escapes := func(opsPerS float64, each int) float64 {
		puts := opsPerS * (c.WarmUp + c.Window).Seconds() * plan.Share(workload.Update)
		found := 0.0
		for _, rank := range plan.Sample(1, each) {
			found += -math.Expm1(-puts*plan.Mass(rank)) / 100 / 100
		}
		return math.Exp(-found)
	}
	for _, test := range []struct {
		opsPerS float64
		each    int
		most    float64
	}{{3e6, linearEach, 1.0 / 10_000}, {1e6, linearEach, 1.0 / 1000}, {3e6, auditedEach, 0.6}} {
		got := escapes(test.opsPerS, test.each)
		t.Logf("%.0f ops/s, %d keys of each range: escapes once in %.2f times", test.opsPerS, test.each, 1/got)
		if got > test.most {
			t.Errorf("%.0f ops/s, %d keys of each range: escapes with probability %.2g, at most %.2g", test.opsPerS, test.each, got, test.most)
		}
	}
}

// Only the audited keys are found, by their hashes.
func TestAuditedKeys(t *testing.T) {
	c := DefaultConfig()
	c.KeyPrefix = "user"
	plan, err := workload.New(c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	a := newAudited(c, plan, 50, 3)
	number := make(map[uint64]int)
	for i, id := range a.ids {
		number[id] = i
	}
	keys := newKeys(c.keys())
	for id := range uint64(100_000) {
		_, hash := keys.key(id)
		got, ok := a.find(hash)
		if want, sampled := number[id]; ok != sampled || ok && int(got) != want {
			t.Fatalf("key %d is number %d, %v; want %d, %v", id, got, ok, want, sampled)
		}
	}
	if ticks := a.ticks(a.origin.Add(time.Hour)); time.Duration(ticks)*a.tick > time.Hour || time.Duration(ticks+1)*a.tick <= time.Hour || a.tick > 2*time.Microsecond {
		t.Errorf("an hour has %d ticks of %v", ticks, a.tick)
	}
}

// Puts of audited keys allocate nothing in steady state.
func TestAuditAllocations(t *testing.T) {
	c := small()
	c.Workload.Workload, c.Workload.Records = workload.YCSBA, 500
	w := benchWorker(t, c)
	plan, err := workload.New(c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	w.audited = newAudited(c, plan, auditedEach, 3)
	w.last = make([]lastWrite, len(w.audited.ids))
	w.servers = make([]driver.Server, 1)
	r := &w.rounds[0]
	round := func() {
		r.begin()
		r.empty()
		w.draw(r, c.Batch)
		w.remember(&r.exchanges[0], time.Now())
	}
	for range 100 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n >= 1 {
		t.Errorf("%v allocations for a round", n)
	}
	versions := uint32(0)
	for _, l := range w.last {
		versions = max(versions, l.version)
	}
	if versions != uint32(w.writer) {
		t.Errorf("the last write is version %d of %d", versions, uint32(w.writer))
	}
}

// BenchmarkAudit measures the processor time of an operation of a client and its server
// with the audit, its reads included, as a multiple of the time without it. Windows of 2 s
// with and without it alternate.
func BenchmarkAudit(b *testing.B) {
	for _, mix := range []string{workload.YCSBA, workload.YCSBB} {
		b.Run(mix, func(b *testing.B) {
			c := DefaultConfig()
			c.Workload.Workload, c.WarmUp, c.Window = mix, 0, 2*time.Second
			var kinds [2]*Generator // without, and with
			for i := range kinds {
				slab, err := engine.Open("slab", engine.Options{})
				if err != nil {
					b.Fatal(err)
				}
				c.Hosts = []string{newStore(b, "server0", c.Codec, slab).addr}
				kinds[i] = connected(b, c)
				kinds[i].Secret = uint64(i)
				if err := kinds[i].Load(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			var ratios []float64
			for b.Loop() {
				var cost [2]float64
				first := len(ratios) % 2 // in turn
				for _, i := range []int{first, 1 - first} {
					g := kinds[i]
					ops, before := g.Counts().Ops(), processorTime(b)
					err := g.Measure(context.Background(), func(metrics.Phase) error { return nil })
					if _, unread := g.Audit(context.Background()); err != nil || unread != nil {
						b.Fatal(err, unread)
					}
					cost[i] = float64(processorTime(b)-before) / float64(g.Counts().Ops()-ops)
				}
				ratios = append(ratios, cost[1]/cost[0])
			}
			b.ReportMetric(stats.Median(ratios), "x-processor-time")
			b.Logf("%.3f", ratios)
		})
	}
}
