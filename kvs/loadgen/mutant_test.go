package loadgen

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/route"
	"kvlab/metrics"
)

// dropping is a store that acknowledges all puts and drops each 1000th.
func dropping() kvs.Engine {
	var count atomic.Uint64
	return &liar{Engine: engine.NewMutex(), before: func(ops []kvs.Op) []kvs.Op {
		given := append([]kvs.Op(nil), ops...)
		for i := range given {
			if given[i].Kind == kvs.Put && count.Add(1)%1000 == 0 {
				given[i].Key = []byte("lost")
			}
		}
		return given
	}}
}

// stale is a store with a cache that writes do not invalidate: it returns each value 20
// times.
func stale() kvs.Engine {
	type entry struct {
		value []byte
		left  int
	}
	var mu sync.Mutex
	cache := make(map[string]entry)
	return &liar{Engine: engine.NewMutex(), after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		mu.Lock()
		defer mu.Unlock()
		for i := range results {
			if !results[i].Found {
				continue
			}
			e := cache[string(ops[i].Key)]
			if e.left == 0 {
				e = entry{bytes.Clone(results[i].Value), 20}
			}
			e.left--
			cache[string(ops[i].Key)] = e
			results[i].Value = e.value
		}
		return results
	}}
}

// again is a store that applies the first put of each 50th batch again, some batches
// later, like a store that does not recognize a batch that is sent again.
func again() kvs.Engine {
	var mu sync.Mutex
	var kept kvs.Op
	batches := 0
	return &liar{Engine: engine.NewMutex(), before: func(ops []kvs.Op) []kvs.Op {
		mu.Lock()
		defer mu.Unlock()
		batches++
		if i := firstPut(ops); batches%50 == 0 && i >= 0 {
			kept = kvs.Op{Kind: kvs.Put, Key: bytes.Clone(ops[i].Key), Value: bytes.Clone(ops[i].Value)}
		}
		if batches%50 == 20 && kept.Key != nil {
			return append([]kvs.Op{kept}, ops...)
		}
		return ops
	}, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result { return results[len(results)-len(ops):] }}
}

func firstPut(ops []kvs.Op) int {
	for i := range ops {
		if ops[i].Kind == kvs.Put {
			return i
		}
	}
	return -1
}

// torn is a store in which some reads see a half-written value: the header of the new
// one, and the end of another.
func torn() kvs.Engine {
	var count atomic.Uint64
	return &liar{Engine: engine.NewMutex(), after: func(_ []kvs.Op, results []kvs.Result) []kvs.Result {
		for i := range results {
			if v := results[i].Value; results[i].Found && count.Add(1)%20 == 0 {
				clear(v[len(v)/2:])
			}
		}
		return results
	}}
}

// aliasing is a store that keeps references to values in the request's frame.
type aliasing struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (a *aliasing) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.values)
}

func (a *aliasing) Apply(ops []kvs.Op, reply *kvs.Reply) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, op := range ops {
		if op.Kind == kvs.Put {
			a.values[string(op.Key)] = op.Value
			reply.Stored()
		} else if value, ok := a.values[string(op.Key)]; ok {
			reply.Found(value)
		} else {
			reply.Missing()
		}
	}
}

// catcher returns the check that caught a run; "" for none. A run without a recorded
// operation, as on a busy machine, is not caught.
func catcher(s metrics.Summary, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case s.Verification.Failures > 0:
		return "verification: " + s.Verification.First
	case s.InWindow.Misses > 0 && s.InWindow.Deletes == 0:
		return "misses"
	case s.Check.Ops > 0 && s.Check.Fault() != "":
		return "check: " + s.Check.Fault()
	}
	return ""
}

// Stores that are sometimes wrong are caught in every run, each by the check that the
// test names. With KVLAB_LONG=1 each has 20 seeds.
func TestMutants(t *testing.T) {
	tests := []struct {
		name   string
		mutant func() kvs.Engine
		want   string
	}{
		{"each 1000th put dropped", dropping, "check: not linearizable"},
		{"stale read cache", stale, "check: not linearizable"},
		{"applied twice", again, "check: not linearizable"},
		{"results swapped", func() kvs.Engine { return &liar{Engine: engine.NewMutex(), after: swapped} }, "verification: "},
		{"torn value", torn, "verification: "},
		{"aliased frame buffer", func() kvs.Engine { return &aliasing{values: make(map[string][]byte)} }, "error: read records"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for range seeds() {
				c := checked()
				c.Workload.Seed = rand.Uint64()
				e := test.mutant()
				c.Hosts = []string{newStore(t, "server0", c.Codec, e).addr}
				got := catcher(mislead(t, c, e))
				t.Logf("seed %d: %.200s", c.Workload.Seed, got)
				if !strings.HasPrefix(got, test.want) {
					t.Errorf("seed %d: caught by %q, want %q", c.Workload.Seed, got, test.want)
				}
			}
		})
	}
}

func seeds() int {
	if os.Getenv("KVLAB_LONG") == "1" {
		return 20
	}
	return 1
}

// mutantOps is the number of recorded operations within which a mutant must be caught,
// independent of the machine's speed.
const mutantOps = 50_000

// mislead runs a client whose store is honest while it loads, until something
// catches it. The windows double: on a slow or busy machine a short one may have no
// recorded operation.
func mislead(t *testing.T, c Config, e kvs.Engine) (metrics.Summary, error) {
	t.Helper()
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		return g.Summary(), err
	}
	if l, ok := e.(*liar); ok {
		l.lying.Store(true)
	}
	for {
		err := g.Measure(context.Background(), func(metrics.Phase) error { return nil })
		if s := g.Summary(); catcher(s, err) != "" || s.Check.Ops > mutantOps {
			return s, err
		}
		g.config.Window *= 2
	}
}

// seeded is a router with a different seed in each process.
type seeded struct {
	route.Router
	seed uint64
}

func (s seeded) Server(key []byte, hash uint64) int {
	return int((hash ^ s.seed) * 0xa0761d6478bd642f >> 63)
}

// Two clients that route differently miss the records that the other stored.
func TestMutantRouting(t *testing.T) {
	for range seeds() {
		c := checked()
		c.Clients, c.Workload.Seed, c.Workload.Records = 2, rand.Uint64(), 200
		_, c.Hosts = newStores(t, 2, c.Codec)
		clients := make([]*Generator, c.Clients)
		for i := range clients {
			c.Index = i
			clients[i] = connected(t, c)
			seed := rand.Uint64()
			for _, w := range clients[i].workers {
				w.router = seeded{w.router, seed}
			}
			if err := clients[i].Load(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		got := ""
		for g := clients[1]; got == "" && g.config.Window < patience; g.config.Window *= 2 {
			err := g.Measure(context.Background(), func(metrics.Phase) error { return nil })
			got = catcher(g.Summary(), err)
		}
		if got != "misses" {
			t.Errorf("seed %d: caught by %q, want misses", c.Workload.Seed, got)
		}
	}
}
