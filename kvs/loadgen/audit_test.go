package loadgen

import (
	"math"
	"testing"
	"time"

	"kvlab/kvs/driver"
	"kvlab/metrics"
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
	}{{3e6, metrics.AuditEach(true), 1.0 / 10_000}, {1e6, metrics.AuditEach(true), 1.0 / 1000}, {3e6, metrics.AuditEach(false), 0.6}} {
		got := escapes(test.opsPerS, test.each)
		t.Logf("%.0f ops/s, %d keys of each range: escapes once in %.2f times", test.opsPerS, test.each, 1/got)
		if got > test.most {
			t.Errorf("%.0f ops/s, %d keys of each range: escapes with probability %.2g, at most %.2g", test.opsPerS, test.each, got, test.most)
		}
	}
}

// A server that loses one insert in a thousand escapes the audit of a default run of YCSB-D
// once in 10,000 times at 3M operations per second, and one that loses an insert in a hundred
// never at a hundredth of that.
func TestAuditPowerOfInserts(t *testing.T) {
	c := DefaultConfig()
	c.Workload.Workload = workload.YCSBD
	plan, err := workload.New(c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ opsPerS, lost, most float64 }{{3e6, 1.0 / 1000, 1e-4}, {3e4, 1.0 / 100, 1e-9}} {
		inserts := test.opsPerS * (c.WarmUp + c.Window).Seconds() * plan.Share(workload.Insert)
		audited := 0.0
		for _, id := range plan.SampleInserts(1) {
			if float64(id-c.Workload.Records) < inserts {
				audited++
			}
		}
		escapes := math.Exp(-audited * test.lost)
		t.Logf("%.0f ops/s, %.0f of %.0f inserts audited: escapes with probability %.2g", test.opsPerS, audited, inserts, escapes)
		if escapes > test.most {
			t.Errorf("%.0f ops/s: escapes with probability %.2g, at most %.2g", test.opsPerS, escapes, test.most)
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
		if ok && a.mightContain(hash) != 1 {
			t.Fatalf("key %d is audited, and its writes are not kept", id)
		}
	}
	if ticks := a.ticks(a.origin + time.Hour); time.Duration(ticks)*a.tick > time.Hour || time.Duration(ticks+1)*a.tick <= time.Hour || a.tick > 2*time.Microsecond {
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
	w.audited = newAudited(c, plan, metrics.AuditEach(false), 3)
	w.last = make([]lastWrite, len(w.audited.ids))
	w.servers = make([]driver.Server, 1)
	r := &w.rounds[0]
	round := func() {
		r.begin()
		r.empty()
		w.draw(r, c.Batch, false)
		w.remember(&r.exchanges[0], now())
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
