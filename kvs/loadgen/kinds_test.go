package loadgen

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/route"
	"kvlab/kvs/wire"
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
		{"deletes and inserts, latest", "xsync", "binary", func(c *Config) {
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

// kindLies are mistakes of a store with inserts, deletes and scans.
var kindLies = []struct {
	name   string
	change func(*Config)
	lie    func(kvs.Engine) *liar
	want   string // a regular expression for what catches it
}{
	{"a scan skips a key", scans, scanLie(func(keys []pair) []pair { return slices.Delete(keys, 1, 2) }), "is not there"},
	{"a scan repeats a key", scans, scanLie(func(keys []pair) []pair { return slices.Insert(keys[:len(keys)-1], 1, keys[0]) }), "is there twice"},
	{"a scan reorders keys", scans, scanLie(func(keys []pair) []pair { keys[0], keys[1] = keys[1], keys[0]; return keys }), "is out of order"},
	{"a scan ends early", scans, scanLie(func(keys []pair) []pair { return keys[:1] }), "is not there"},
	{"a scan begins late", scans, scanLie(func(keys []pair) []pair { return keys[1:] }), "is not there"},
	{"a scan exchanges values", scans, scanLie(func(keys []pair) []pair { keys[0].value = keys[1].value; return keys }), "the value of another key"},
	{"inserts are lost", func(c *Config) { c.Workload.Workload = workload.YCSBD }, loses(kvs.Insert), "misses"},
	{"inserts are lost, and scanned", scans, loses(kvs.Insert), "is not there|none is back"}, // a later scan, or the check of histories
	{"a scan answered as a write", scans, answers(kvs.Scan, kvs.Result{}), "the result of a scan is not one"},
	{"a scan answered as a miss", scans, answers(kvs.Scan, kvs.Result{Read: true}), "is a scan, its result is not"},
	{"a delete answered as a read", deletes, answers(kvs.Delete, kvs.Result{Read: true, Found: true}), "is a delete, its result is not"},
	{"a delete is undone", deletes, loses(kvs.Delete), "not linearizable"},
	{"a write is lost where others delete", func(c *Config) { mixed(c, 0.6, workload.StandardMix, 0.1, workload.StandardMix) }, loses(kvs.Put), "not linearizable"},
}

func deletes(c *Config) { mixed(c, 0.6, workload.StandardMix, 0.2, workload.StandardMix) }

// answers gives all operations of a kind one result.
func answers(kind kvs.Kind, result kvs.Result) func(kvs.Engine) *liar {
	return func(e kvs.Engine) *liar {
		return &liar{Engine: e, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
			for i := range results {
				if ops[i].Kind == kind {
					results[i] = result
				}
			}
			return results
		}}
	}
}

func scans(c *Config) { c.Workload.Workload = workload.YCSBE }

// pair is a pair of a scan's result.
type pair struct{ key, value []byte }

// scanLie changes the pairs of each scan that has three.
func scanLie(lie func([]pair) []pair) func(kvs.Engine) *liar {
	return func(e kvs.Engine) *liar {
		return &liar{Engine: e, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
			for i := range results {
				if !ops[i].Kind.Scans() {
					continue
				}
				var all []pair
				for pairs := kvs.PairsOf(results[i].Value); pairs.More(); {
					key, value, _ := pairs.Next()
					all = append(all, pair{key, value})
				}
				if len(all) < 3 {
					continue
				}
				var r kvs.Reply
				r.Reset()
				start := r.BeginPairs()
				for _, p := range lie(all) {
					r.Pair(p.key, p.value)
				}
				r.EndPairs(start)
				cursor := r.Results()
				results[i], _ = cursor.Next()
			}
			return results
		}}
	}
}

// loses answers each tenth operation of a kind rightly, and applies another one, on a key
// that is below all others.
func loses(kind kvs.Kind) func(kvs.Engine) *liar {
	return func(e kvs.Engine) *liar {
		var n atomic.Uint64
		return &liar{Engine: e, before: func(ops []kvs.Op) []kvs.Op {
			given := slices.Clone(ops)
			for i := range given {
				if given[i].Kind != kind {
					continue
				}
				if n.Add(1)%10 == 0 {
					given[i] = kvs.Op{Kind: kvs.Put, Key: []byte{0}, Value: []byte("lost")}
				}
			}
			return given
		}}
	}
}

// Every mistake of a store with these kinds is found.
func TestKindLies(t *testing.T) {
	for _, test := range kindLies {
		t.Run(test.name, func(t *testing.T) {
			c := checked()
			c.Batch, c.Engine = 50, "btree"
			test.change(&c)
			for range seeds() {
				c.Workload.Seed = rand.Uint64()
				e := test.lie(opened(t, c.Engine))
				c.Hosts = []string{newStore(t, "server0", c.Codec, e).addr}
				if got := catcher(mislead(t, c, e)); !regexp.MustCompile(test.want).MatchString(got) {
					t.Errorf("seed %d: caught by %q, want %q", c.Workload.Seed, got, test.want)
				}
			}
		})
	}
}

// An honest run with any kinds is VALID, with the audit of what was inserted and deleted.
func TestHonestKindsAreValid(t *testing.T) {
	mixes := []func(*Config){
		func(c *Config) { c.Workload.Workload = workload.YCSBD },
		func(c *Config) { c.Workload.Workload = workload.YCSBE },
		func(c *Config) { mixed(c, 0.3, 0.1, 0.1, 0.1) },
		func(c *Config) { mixed(c, 0.5, workload.StandardMix, 0.2, workload.StandardMix) },
		func(c *Config) { mixed(c, 0.5, 0.1, 0.1, workload.StandardMix) },
		func(c *Config) { mixed(c, 0.3, 0.1, workload.StandardMix, 0.1) },
	}
	for seed := range uint64(max(3, runs())) {
		random := rand.New(rand.NewPCG(seed, 1))
		c := trialOf(seed)
		c.Workload.ScanLength = 10
		mixes[seed%uint64(len(mixes))](&c)
		c.Workload.Distribution = []string{"", workload.Uniform, workload.Latest, workload.Zipfian}[random.IntN(4)]
		c.Router, c.Codec = route.Names[random.IntN(len(route.Names))], wire.Codecs[random.IntN(len(wire.Codecs))]
		vary(&c, random)
		plan, err := workload.New(c.Workload)
		if err != nil {
			t.Fatal(err)
		}
		name := "slab"
		if slices.Contains(kindsOf(plan), kvs.Scan) {
			name, c.Cached = "btree", 0 // no engine has both
		}
		if v := judged(t, c, mistake{engine: func() kvs.Engine { return opened(t, name) }}); !v.Valid {
			t.Errorf("seed %d: verdict %s of %+v", seed, v, c)
		}
	}
}

// The audit finds a delete that is undone, an insert that is lost, and writes that are lost
// where others delete.
func TestAuditOfKinds(t *testing.T) {
	deleting := func(c *Config) { mixed(c, 0.2, workload.StandardMix, 0.3, workload.StandardMix) }
	for _, m := range []mistake{
		{name: "deletes undone", config: deleting, engine: func() kvs.Engine { return loses(kvs.Delete)(engine.NewMutex()) }, want: "want none after the Delete by worker"},
		{name: "puts lost", config: deleting, engine: func() kvs.Engine { return loses(kvs.Put)(engine.NewMutex()) }, want: "a write is lost, or an old value was read"},
		{name: "inserts lost", config: func(c *Config) { mixed(c, 0.2, 0.3, 0.1, workload.StandardMix) }, engine: func() kvs.Engine { return loses(kvs.Insert)(engine.NewMutex()) }, want: "(inserted) is missing, want version"},
	} {
		t.Run(m.name, func(t *testing.T) {
			m.lie = lying
			run, err := trial(t, trialOf(1), m)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(run.Audit.First)
			if run.Audit.Failures == 0 || !strings.Contains(run.Audit.First, m.want) {
				t.Errorf("%d failures, the first %q; want %q", run.Audit.Failures, run.Audit.First, m.want)
			}
		})
	}
}
