package loadgen

import (
	"slices"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/workload"
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

// clientMistakes returns what clients do, and their own checks find. What their counts show
// kvs/verdict's tests have.
func clientMistakes() []mistake {
	return []mistake{
		{name: "random routing from the beginning", want: "are not there: lost, or a key's operations go to different servers", load: randomly},
		{name: "others' writes seen when the run is over", want: "a stale read in the window", config: writing, lie: seesOwn(1)},
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
		{name: "a key gone before its -ttl", want: "none can have lived for its -ttl", liar: oneFound(func(_ kvs.Op, r *kvs.Result) { *r = kvs.Result{Read: true} }), lie: func(g *Generator) {
			for _, w := range g.workers {
				w.noMiss = never
			}
		}},
		{name: "a result left out", want: "results for ", liar: answers(func(_ []kvs.Op, results []kvs.Result) []kvs.Result { return results[1:] })},
		{name: "a result too many", want: "results for ", liar: answers(func(_ []kvs.Op, results []kvs.Result) []kvs.Result {
			return append(results, kvs.Result{})
		})},
		{name: "a Get answered as a Put", want: "its result is not", liar: oneFound(func(_ kvs.Op, r *kvs.Result) { *r = kvs.Result{} })},
		{name: "a Put answered as a Get", want: "is a put, its result is not", config: writing, liar: allOf(kvs.Put, kvs.Result{Read: true})},
	}
}

// valueMistakes returns wrong values of a store. What else a value tells of itself
// kvs/value's tests have.
func valueMistakes() []mistake {
	flip := func(at int) func(kvs.Op, *kvs.Result) { return func(_ kvs.Op, r *kvs.Result) { r.Value[at] ^= 1 } }
	return []mistake{
		{name: "two results swapped", want: otherKey, liar: answers(swapped)},
		{name: "a value of another run", want: "which does not exist", liar: oneFound(stranger)},
		{name: "a value of another run in the load", want: "which does not exist", config: oneLoader, liar: oneFound(stranger), early: true},
		{name: "values made up", want: "a value of an earlier run, or made up", load: func(g *Generator) { g.SetKey(value.Key{1, 2}) }, liar: oneFound(madeUp)},
		{name: "a bit of the body, all compared", want: "a value whose last 4 bytes are", config: func(c *Config) { c.Verify = 1 }, liar: oneFound(flip(99))},
		{name: "a bit of each body, one in 16 compared", want: "at offset 48, want", liar: eachFound(flip(50))},
		{name: "a bit of one body in the load", want: "are wrong; the first: worker 0: get: a value with ", config: oneLoader, liar: oneFound(flip(50)), early: true},
		{name: "an old value now and then", want: "this worker has read|was acknowledged at least", ops: 20_000, config: writing, liar: reverting},
		{name: "an empty value", want: "an empty value, want 100 bytes", liar: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value = nil })},
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
		{name: "is answered as a write", liar: allOf(kvs.Scan, kvs.Result{}), want: "the result of a scan is not one"},
		{name: "is answered as a miss", liar: allOf(kvs.Scan, kvs.Result{Read: true}), want: "is a scan, its result is not"},
	} {
		m.name, m.store, m.config, m.ops = "a scan "+m.name, "btree", scanning, 100
		all = append(all, m)
	}
	return all
}

// historyMistakes returns what the check of histories finds, whether or not others do. Stores
// with wrong versions kvs/cache's tests have.
func historyMistakes() []mistake {
	all := []mistake{
		{name: "each 1000th put dropped", liar: loses(kvs.Put, 1000), want: illegal},
		{name: "a stale read cache", liar: stale(20, false), want: illegal},
		{name: "a batch applied twice", liar: again, want: illegal},
		{name: "a client believes what it held", lie: seesOwn(100), want: illegal},
		{name: "a delete is undone", config: func(c *Config) { mixed(c, 0.6, workload.StandardMix, 0.2, workload.StandardMix) }, liar: loses(kvs.Delete, 10), want: illegal},
		// A later scan finds them, or the check of histories.
		{name: "inserts are lost, and scanned", store: "btree", config: func(c *Config) { c.Workload.Workload = workload.YCSBE }, liar: loses(kvs.Insert, 10), want: "is not there|none is back|" + illegal},
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

func writing(c *Config)  { c.Workload.Workload = workload.YCSBA }
func scanning(c *Config) { c.Workload.Workload, c.Workload.ScanLength = workload.YCSBE, 10 }

// oneLoader is a load by one worker, of which the run compares few values.
func oneLoader(c *Config) { c.Workload.Records, c.Workers, c.Verify = 1500, 1, 1000 }

// Every mistake is found in every run, and what must say so names it; an error names the server
// too. No operation with a wrong result counts. With
// KVLAB_LONG=1 each is made with 20 seeds.
func TestMistakesAreNamed(t *testing.T) {
	for _, m := range mistakes() {
		t.Run(m.name, func(t *testing.T) {
			for seed := range uint64(seeds()) {
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
