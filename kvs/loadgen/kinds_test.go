package loadgen

import (
	"fmt"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/route"
	"kvlab/metrics"
	"kvlab/workload"
)

// mixed sets a mix of the shares of reads, inserts, deletes and scans; the rest are updates.
func mixed(c *Config, reads, inserts, deletes, scans float64) {
	w := &c.Workload
	w.Workload, w.Reads, w.Inserts, w.Deletes, w.Scans = workload.Mix, reads, inserts, deletes, scans
}

func opened(t *testing.T, name string) kvs.Engine {
	t.Helper()
	e, err := engine.Open(name, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Of every kind, the operations that two clients verified are exactly those that three
// servers applied. What is stored at the end was loaded or inserted, and not deleted.
func TestKindsAgree(t *testing.T) {
	tests := []struct {
		name, engine, codec string
		change              func(*Config)
	}{
		{"D", "syncmap", "binary", func(c *Config) { c.Workload.Workload = workload.YCSBD }},
		{"D, some in flight", "mutex", "gob", func(c *Config) { c.Workload.Workload, c.InFlight = workload.YCSBD, 3 }},
		{"D, open loop", "slab", "binary", func(c *Config) { c.Workload.Workload, c.Rate.OpsPerS = workload.YCSBD, 20_000 }},
		{"E", "btree", "binary", func(c *Config) { c.Workload.Workload = workload.YCSBE }},
		{"E, scrambled", "btree", "gob", func(c *Config) { c.Workload.Workload, c.Workload.Scramble = workload.YCSBE, true }},
		{"E, some in flight", "btree", "binary", func(c *Config) { c.Workload.Workload, c.InFlight, c.Dedup = workload.YCSBE, 3, true }},
		{"E, open loop", "btree", "binary", func(c *Config) { c.Workload.Workload, c.Rate.OpsPerS, c.KeyPrefix = workload.YCSBE, 5000, "user" }},
		{"deletes", "syncmap", "binary", func(c *Config) { mixed(c, 0.5, workload.StandardMix, 0.2, workload.StandardMix) }},
		{"deletes and inserts, latest", "sharded", "binary", func(c *Config) {
			mixed(c, 0.5, 0.2, 0.1, workload.StandardMix)
			c.Workload.Distribution = workload.Latest
		}},
		{"all", "btree", "binary", func(c *Config) { mixed(c, 0.3, 0.2, 0.1, 0.2); c.Workload.ReadModifyWrites = 0.1; c.InFlight = 2 }},
		{"all, open loop", "btree", "binary", func(c *Config) { mixed(c, 0.3, 0.2, 0.1, 0.2); c.Rate.OpsPerS = 5000 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := small()
			c.Codec, c.Clients, c.Batch, c.Engine, c.Workload.ScanLength = test.codec, 2, 40, test.engine, 20
			if test.change(&c); c.Rate.OpsPerS > 0 {
				c.Window = 100 * time.Millisecond
			}
			servers, clients, _ := runOnStores(t, c, 3)
			plan, err := workload.New(c.Workload)
			if err != nil {
				t.Fatal(err)
			}
			deletes := plan.Share(workload.Delete) > 0
			records, most := 0, int(c.Workload.Records)
			for _, s := range servers {
				records += s.engine.Len()
			}
			for _, g := range clients {
				if _, err := g.Latency().Collect(0, 1); err != nil {
					t.Fatal(err)
				}
				s := g.Summary()
				most += int(s.Total.Inserts)
				checkAgainst(t, g.config.Node, s, servers, deletes)
				checkDigests(t, g, s)
				checkKinds(t, plan, s)
				var sums metrics.Rounds
				for _, w := range s.Workers {
					sums.Ops += w.Rounds.Ops
				}
				due := metrics.Counts{}
				for _, p := range s.Peers {
					due = due.Add(p.Latency.Due)
				}
				if q := s.Latency[metrics.OpLatency]; q.Values+q.OutOfRange != due.Ops() || sums.Ops != due.Ops() {
					t.Errorf("%d latencies, and %d of the workers, of %d operations", q.Values+q.OutOfRange, sums.Ops, due.Ops())
				}
			}
			if records > most || !deletes && records < most {
				t.Errorf("%d records are stored, %d were loaded or inserted", records, most)
			}
		})
	}
}

// checkKinds: the kinds occur that the plan has, and a part of each scan for every other
// server.
func checkKinds(t *testing.T, plan *workload.Plan, s metrics.Summary) {
	t.Helper()
	drawn := s.Total
	for _, p := range s.Peers {
		drawn = drawn.Sub(p.Load)
	}
	for kind, n := range drawn.ByKind() {
		if kind == int(kvs.ScanPart) {
			if n != drawn.Scans*uint64(len(s.Peers)-1) {
				t.Errorf("%d parts of %d scans", n, drawn.Scans)
			}
		} else if has := plan.Share(workload.Kind(kind)) > 0; has != (n > 0) {
			t.Errorf("%d operations of kind %d, whose share is %g", n, kind, plan.Share(workload.Kind(kind)))
		}
	}
}

// Records whose ids are too long for the key table are inserted and read like others.
func TestLongInserts(t *testing.T) {
	c := brief()
	c.Workload.Workload, c.Workload.Records = workload.YCSBD, firstLongID-1
	w := benchWorker(t, c)
	if w.keyTable == nil || w.keyTable.lacks([]workload.Op{{Key: firstLongID - 1}}) {
		t.Error("the table lacks a key of eight digits")
	}
	r := &w.rounds[0]
	r.begin()
	r.empty()
	ops := []workload.Op{{Kind: workload.Insert, Key: firstLongID + 7}, {Kind: workload.Read, Key: 5}, {Kind: workload.Read, Key: firstLongID + 7}}
	w.add(r, ops)
	for i, op := range batchOps(t, &r.exchanges[0].batch) {
		key := fmt.Sprintf("%013d", ops[i].Key)
		if string(op.Key) != key || r.exchanges[0].hashes[i] != route.Hash([]byte(key)) || op.Kind != kvs.Kind(ops[i].Kind) {
			t.Errorf("%s of %s, want %s", op.Kind, op.Key, key)
		}
	}
}

func batchOps(t *testing.T, b *kvs.Batch) []kvs.Op {
	t.Helper()
	ops := make([]kvs.Op, b.Len())
	cursor := b.Ops()
	if n, err := cursor.Next(ops); err != nil || n != len(ops) {
		t.Fatal(n, err)
	}
	return ops
}

// With every kind, several clients and rounds under way, a right store is linearizable for
// each client and for all together.
func TestKindsLinearizable(t *testing.T) {
	for _, test := range []struct {
		name, engine string
		change       func(*Config)
	}{
		{"D", "syncmap", func(c *Config) { c.Workload.Workload = workload.YCSBD }},
		{"E", "btree", func(c *Config) { c.Workload.Workload = workload.YCSBE }},
		{"deletes", "slab", func(c *Config) { mixed(c, 0.5, 0.1, 0.2, workload.StandardMix) }},
		{"all", "btree", func(c *Config) { mixed(c, 0.3, 0.1, 0.1, 0.2) }},
	} {
		for _, batch := range []int{1, 50} {
			t.Run(fmt.Sprint(test.name, batch), func(t *testing.T) {
				c := checked()
				c.Batch, c.Clients, c.InFlight, c.Engine, c.Workload.ScanLength = batch, 2, 2, test.engine, 20
				test.change(&c)
				_, clients, summaries := runOnStores(t, c, 2)
				for i, s := range summaries {
					t.Log(s.Check.Text())
					if s.Check.Fault() != "" || clients[i].Violation() != nil || s.Verification.Failures > 0 {
						t.Errorf("%s %s %s", s.Check.Text(), s.Check.Fault(), s.Verification.First)
					}
				}
			})
		}
	}
}
