package loadgen

import (
	"slices"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/engine/enginetest"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics/latency"
	"kvlab/workload"
	"kvlab/workload/size"
)

// mistake is a mistake of a store or of a client, and what must say so. What may be nil is
// right.
type mistake struct {
	name   string
	config func(c *Config)          // changes trialOf's
	store  string                   // the servers' engine, mutex by default
	liar   func(e kvs.Engine) *liar // makes it lie; may be nil
	early  bool                     // it lies from the beginning, and not only after the load
	load   func(g *Generator)       // what is wrong from the beginning; may be nil
	skip   bool                     // nothing is loaded
	lie    func(g *Generator)       // what is wrong after the load; may be nil
	count  func(g *Generator)       // what is wrong when all is added up; may be nil
	ops    uint64                   // the least number of operations; few by default
	until  bool                     // the run goes on until its own checks find something, or enough is recorded
	want   string                   // in the verdict or, of until, in what a check said; or one of several, with | between them
}

const (
	// few operations show a mistake that a count or a value gives away.
	few = 6000
	// many are what a statistical test takes.
	many = 60_000
	// recorded operations show each mistake in a history, on a machine of any speed.
	recorded = 50_000
)

const (
	illegal  = "history: not linearizable"
	otherKey = "the value of another key"
)

// mistakes returns all mistakes.
func mistakes() []mistake {
	return slices.Concat(clientMistakes(), storeMistakes(), valueMistakes(), kindMistakes(), historyMistakes(), rareMistakes())
}

// clientMistakes returns what real labs' clients have done.
func clientMistakes() []mistake {
	return []mistake{
		{name: "operations dropped when queues are full", want: "operations and", lie: change(dropping)},
		{name: "random routing", ops: many, want: "random routing", lie: routers(randomly)},
		{name: "random routing of reads", ops: many, want: "random routing", config: reads, lie: routers(randomly)},
		{name: "another router", want: "wrong or random routing", load: routers(func(g *Generator, _ *worker) route.Router {
			r, _ := route.New("balanced", g.config.Servers(), nil)
			return r
		})},
		{name: "random routing from the beginning", want: "are not there: lost, or a key's operations go to different servers", load: routers(randomly)},
		{name: "a router's seed in each worker", want: "operations went to servers that do not own their keys", load: routers(func(_ *Generator, w *worker) route.Router {
			return seeded{w.router, uint64(w.id) << 62}
		})},
		{name: "reads sent as writes", want: "sent some as another kind (reads as writes?)", lie: change(readsAsWrites)},
		{name: "reads drawn as writes", ops: many, want: "the mix is wrong (reads sent as writes?)", lie: sources(updates, itself)},
		{name: "counted when sent", want: "counted some before they were done (when sent, or dropped on the way", lie: change(countedUnsent)},
		{name: "one worker's result lost", want: "the client lost results before it counted them (a worker's",
			count: func(g *Generator) { g.workers = g.workers[:len(g.workers)-1] }},
		{name: "a worker's calls without latencies", want: "and the latencies count",
			lie: func(g *Generator) { g.workers[0].recorder = new(latency.Recorder) }},
		{name: "an open loop of another seed", want: "were not timed from when the seed says", config: tooFast,
			count: func(g *Generator) { g.workers[0].dues++ }},
		{name: "latencies capped", want: "the histogram's mean latency of operations is", count: func(g *Generator) {
			for _, w := range g.workers {
				w.ops.sum *= 1.1
			}
		}},
		{name: "calls sent twice", want: "the client lost results", lie: change(func(_ *worker, c *changed) { c.twice = 10 })},
		{name: "a client's cache that serves stale values", want: "a cache answered some before the server", lie: change(cached)},
		{name: "one generator for all workers", ops: many, want: "they share a generator",
			lie: sources(func(*workload.Config) {}, func(int) int { return 0 })},
		{name: "wrong theta", ops: many, want: "the skew is wrong (wrong theta?)", lie: sources(func(c *workload.Config) { c.Theta = 0.5 }, itself)},
		{name: "wrong skew in the tail", ops: many, want: "the skew is wrong", lie: change(otherKeys)},
		{name: "others' writes seen when the run is over", want: "a stale read in the window", config: writing, lie: ownView(1)},
		{name: "smaller sizes, for writers and readers", want: "bytes were sent with",
			config: func(c *Config) { c.ValueSize = size.Law{Least: 24, Most: 1024} }, load: func(g *Generator) {
				for _, w := range g.workers {
					w.sizes = size.Law{Least: 24, Most: 512}.Values(g.config.Workload.Seed)
					w.checker.Sizes = w.sizes
				}
			}},
		{name: "constant values", ops: many, want: "the values are constant or compressible", load: bodies(func(b []byte) { clear(b) })},
		{name: "compressible values", ops: many, want: "the values are constant or compressible", load: bodies(func(b []byte) {
			for i := range b {
				b[i] = 'a' + b[i]%26
			}
		})},
	}
}

// storeMistakes returns what stores lose, forget or leave out.
func storeMistakes() []mistake {
	return []mistake{
		{name: "empty store", want: "0 of 1000 records were loaded", skip: true},
		{name: "values that expire", want: "expire", liar: expiring(kvs.Result{Read: true})},
		{name: "values that expire and leave nothing", want: "an empty value, want 100 bytes: it has expired", liar: expiring(kvs.Result{Read: true, Found: true})},
		{name: "each 500th put of the load dropped", want: "2 of them are not there", config: oneLoader, liar: loses(kvs.Put, 500), early: true},
		{name: "a key forgotten", want: "misses", liar: oneFound(func(_ kvs.Op, r *kvs.Result) { *r = kvs.Result{Read: true} })},
		{name: "a result left out", want: "results for ", liar: answers(func(_ []kvs.Op, results []kvs.Result) []kvs.Result { return results[1:] })},
		{name: "a result too many", want: "results for ", liar: answers(func(_ []kvs.Op, results []kvs.Result) []kvs.Result {
			return append(results, kvs.Result{})
		})},
		{name: "a Get answered as a Put", want: "its result is not", liar: oneFound(func(_ kvs.Op, r *kvs.Result) { *r = kvs.Result{} })},
		{name: "a Put answered as a Get", want: "is a put, its result is not", config: writing, liar: allOf(kvs.Put, kvs.Result{Read: true})},
		{name: "an aliased frame buffer", want: "read records", liar: aliasing, early: true},
	}
}

// valueMistakes returns wrong values of a store.
func valueMistakes() []mistake {
	flip := func(at int, bit byte) func(kvs.Op, *kvs.Result) {
		return func(_ kvs.Op, r *kvs.Result) { r.Value[at] ^= bit }
	}
	return []mistake{
		{name: "two results swapped", want: otherKey, liar: answers(swapped)},
		{name: "another key's value", want: otherKey, liar: eachFound(anothers)},
		{name: "writes to other keys", want: otherKey, config: writing, liar: misplaced},
		{name: "a value of another run", want: "which does not exist", liar: oneFound(stranger)},
		{name: "a value of another run in the load", want: "which does not exist", config: oneLoader, liar: oneFound(stranger), early: true},
		{name: "values made up", want: "a value of an earlier run, or made up", load: func(g *Generator) { g.SetKey(value.Key{1, 2}) }, liar: oneFound(madeUp)},
		{name: "a bit of the key hash", want: otherKey, liar: oneFound(flip(3, 4))},
		{name: "a bit of the version", want: "check bytes", liar: oneFound(flip(9, 1))},
		{name: "a bit of the check bytes", want: "check bytes", liar: oneFound(flip(20, 128))},
		{name: "a bit of the body, all compared", want: "a value whose last 4 bytes are", config: func(c *Config) { c.Verify = 1 }, liar: oneFound(flip(99, 1))},
		{name: "a bit of each body, one in 16 compared", want: "at offset 48, want", liar: eachFound(func() func(kvs.Op, *kvs.Result) { return flip(50, 1) })},
		{name: "a bit of one body in the load", want: "are wrong; the first: worker 0: get: a value with ", config: oneLoader, liar: oneFound(flip(50, 1)), early: true},
		{name: "a value cut off", want: "a value of 90 bytes, want 100", liar: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value = r.Value[:90] })},
		{name: "an empty value", want: "an empty value, want 100 bytes", liar: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value = nil })},
		{name: "a torn value", want: "check bytes|a value ", liar: eachFound(torn)},
	}
}

// kindMistakes returns what stores do wrong with inserts, deletes and scans.
func kindMistakes() []mistake {
	deleting := func(c *Config) { mixed(c, 0.2, workload.StandardMix, 0.3, workload.StandardMix) }
	inserting := func(c *Config) { mixed(c, 0.2, 0.3, 0.1, workload.StandardMix) }
	all := []mistake{
		{name: "deletes undone", config: deleting, liar: loses(kvs.Delete, 10), want: "want none after the Delete by worker"},
		{name: "puts lost where others delete", config: deleting, liar: loses(kvs.Put, 10), want: "a write is lost, or an old value was read"},
		{name: "inserts lost", config: inserting, liar: loses(kvs.Insert, 10), want: "(inserted) is missing, want version"},
		{name: "a delete answered as a read", config: deleting, liar: allOf(kvs.Delete, kvs.Result{Read: true, Found: true}), want: "is a delete, its result is not"},
	}
	for _, m := range []mistake{
		{name: "skips a key", liar: scanned(func(keys []pair) []pair { return slices.Delete(keys, 1, 2) }), want: "is not there"},
		{name: "repeats a key", liar: scanned(func(keys []pair) []pair { return slices.Insert(keys[:len(keys)-1], 1, keys[0]) }), want: "is there twice"},
		{name: "reorders keys", liar: scanned(func(keys []pair) []pair { keys[0], keys[1] = keys[1], keys[0]; return keys }), want: "is out of order"},
		{name: "ends early", liar: scanned(func(keys []pair) []pair { return keys[:1] }), want: "is not there"},
		{name: "begins late", liar: scanned(func(keys []pair) []pair { return keys[1:] }), want: "is not there"},
		{name: "exchanges values", liar: scanned(func(keys []pair) []pair { keys[0].value = keys[1].value; return keys }), want: otherKey},
		{name: "is answered as a write", liar: allOf(kvs.Scan, kvs.Result{}), want: "the result of a scan is not one"},
		{name: "is answered as a miss", liar: allOf(kvs.Scan, kvs.Result{Read: true}), want: "is a scan, its result is not"},
	} {
		m.name, m.store, m.config, m.ops = "a scan "+m.name, "btree", scanning, 100
		all = append(all, m)
	}
	return all
}

// historyMistakes returns what the check of histories finds, whether or not others do.
func historyMistakes() []mistake {
	all := []mistake{
		{name: "each 1000th put dropped", liar: loses(kvs.Put, 1000), want: illegal},
		{name: "a stale read cache", liar: stale(20, false), want: illegal},
		{name: "a batch applied twice", liar: again, want: illegal},
		{name: "a client believes what it held", lie: ownView(100), want: illegal},
		{name: "a delete is undone", config: func(c *Config) { mixed(c, 0.6, workload.StandardMix, 0.2, workload.StandardMix) }, liar: loses(kvs.Delete, 10), want: illegal},
		{name: "a write is lost where others delete", config: func(c *Config) { mixed(c, 0.6, workload.StandardMix, 0.1, workload.StandardMix) }, liar: loses(kvs.Put, 10), want: illegal},
		{name: "inserts are lost, and read", config: func(c *Config) { c.Workload.Workload = workload.YCSBD }, liar: loses(kvs.Insert, 10), want: "misses"},
		// A later scan finds them, or the check of histories.
		{name: "inserts are lost, and scanned", store: "btree", config: func(c *Config) { c.Workload.Workload = workload.YCSBE }, liar: loses(kvs.Insert, 10), want: "is not there|none is back|" + illegal},
	}
	for _, wrong := range enginetest.VersionMutants {
		all = append(all, mistake{name: wrong, config: func(c *Config) {
			// With few writes, so that what a client holds is often current.
			mixed(c, 0.85, workload.StandardMix, 0.03, workload.StandardMix)
			c.Workload.ReadModifyWrites, c.CRC, c.InFlight, c.Batch, c.Cached = 0.1, true, 2, 20, cache.All
		}, liar: wrongVersions(wrong), want: illegal + "|" + otherKey + "|" + cache.ErrDigest.Error()})
	}
	for i := range all {
		all[i].until = true
	}
	return all
}

// rareMistakes need more operations than a short test has time for.
func rareMistakes() []mistake {
	if !long() {
		return nil
	}
	return []mistake{{name: "a hundredth of the puts to a hundredth of the keys dropped", want: "a write is lost", ops: 900_000,
		config: func(c *Config) {
			c.Linearizable, c.Batch, c.Workload.Records = true, 2000, 300_000
			c.Workload.Workload, c.Workload.Reads, c.Workload.Distribution = workload.Mix, 0.1, workload.Uniform
		},
		liar: keeps(func(hash uint64) bool { return route.Thin(hash)%100 == 0 }, 100)}}
}

func updates(c *workload.Config) { c.Workload = workload.YCSBA }
func writing(c *Config)          { updates(&c.Workload) }
func reads(c *Config)            { c.Workload.Workload = workload.YCSBC }
func scanning(c *Config)         { c.Workload.Workload, c.Workload.ScanLength = workload.YCSBE, 10 }

// oneLoader is a load by one worker, of which the run compares few values.
func oneLoader(c *Config) { c.Workload.Records, c.Workers, c.Verify = 1500, 1, 1000 }

// Every mistake is found in every run, and what must say so names it; an error names the server
// too. No operation with a wrong result counts. With KVLAB_LONG=1 each is made with 20 seeds, and what a statistical test finds with 100.
func TestMistakesAreNamed(t *testing.T) {
	for _, m := range mistakes() {
		t.Run(m.name, func(t *testing.T) {
			times := seeds()
			switch {
			case m.ops > many:
				times = min(times, 10)
			case m.ops == many:
				times = runs()
			}
			for seed := range uint64(times) {
				valid, said := judged(t, trialOf(seed), m)
				if t.Logf("seed %d: %.300s", seed, said); valid || !containsOne(said, m.want) {
					t.Errorf("seed %d: %s; want %q", seed, said, m.want)
				}
				if strings.HasPrefix(said, "error: ") && !containsOne(said, "server0|server1|read records") {
					t.Errorf("seed %d: %s names no server", seed, said)
				}
			}
		})
	}
}
