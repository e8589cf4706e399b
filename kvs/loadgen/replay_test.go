package loadgen

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/profile"
	"kvlab/workload/trace"
)

// tracedInputs draws operations of a cache: reads that find something and nothing, writes of many
// sizes, read-modify-writes and deletes.
func tracedInputs(seed uint64, n int) (all []trace.Input) {
	r := rand.New(rand.NewPCG(seed, 8))
	there := map[int]int{}
	for i := range n {
		key := int(r.ExpFloat64() * float64(n) / 100)
		in := trace.Input{Name: "op", Key: fmt.Appendf(nil, "key%d", key), Length: 5 + key%40, Times: 1, Tick: uint32(i / 100)}
		size, known := there[key]
		switch luck := r.IntN(20); {
		case luck < 12:
			in.Command = trace.Get
			if in.Size = size; !known && key%2 == 0 {
				in.Size = 1 + r.IntN(2000)
			}
		case luck < 17:
			in.Command, in.Size = trace.Set, r.IntN(2000)
		case luck < 18:
			in.Command, in.Size = trace.Swap, r.IntN(300)
		default:
			in.Command = trace.Remove
		}
		if there[key] = in.Size; in.Command == trace.Remove {
			there[key] = 0
		}
		all = append(all, in)
	}
	return all
}

// traced compiles operations.
func traced(t testing.TB, inputs []trace.Input) string { return tracedWith(t, inputs, false) }

// tracedWith compiles operations, with the keys themselves or without.
func tracedWith(t testing.TB, inputs []trace.Input, texts bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.kvt")
	b, err := trace.Create(path, "test", 1e6)
	if err == nil {
		b.Texts = texts
	}
	for _, in := range inputs {
		if err == nil {
			err = b.Add(in)
		}
	}
	if err == nil {
		_, err = b.Close("")
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// witness is an engine that keeps the operations of each key in the order in which it executes
// them, and may be faulty.
type witness struct {
	kvs.Engine
	mu    sync.Mutex
	done  map[string][]string
	fault func(ops []kvs.Op)
}

func (e *witness) Apply(ops []kvs.Op, reply *kvs.Reply) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, op := range ops {
		e.done[string(op.Key)] = append(e.done[string(op.Key)], fmt.Sprintf("%s %d", op.Kind, len(op.Value)))
	}
	if e.fault != nil {
		e.fault(ops)
	}
	e.Engine.Apply(ops, reply)
}

// replayed runs a whole trace from several clients on two servers, and reads what it leaves.
func replayed(t *testing.T, path string, clients int, change func(*Config), fault func([]kvs.Op)) (engines []*witness, all []metrics.Summary) {
	t.Helper()
	var hosts []string
	for i := range 2 {
		e := &witness{Engine: engine.NewMutex(), done: map[string][]string{}}
		engines = append(engines, e)
		hosts = append(hosts, newStore(t, fmt.Sprint("node", i), "binary", e).addr)
	}
	var generators []*Generator
	for i := range clients {
		c := small()
		c.Hosts, c.Index, c.Clients, c.Workload.Replay, c.WarmUp = hosts, i, clients, path, 0
		if _, err := c.Workload.Resolve(); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(&c)
		}
		g := connected(t, c)
		if err := g.Load(context.Background()); err != nil {
			t.Fatal(err)
		}
		generators = append(generators, g)
	}
	for _, e := range engines {
		clear(e.done)
		e.fault = fault
	}
	var group sync.WaitGroup
	for _, g := range generators {
		group.Go(func() {
			g.Secret = 7
			if err := g.Draw(context.Background()); err != nil {
				t.Error(err)
			}
			g.drawn = false
			begin := time.Now()
			if err := g.drive(context.Background(), begin, fixed(begin, begin.Add(time.Hour))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, e := range engines {
		e.fault = nil
	}
	for _, g := range generators {
		if _, err := g.Audit(context.Background()); err != nil {
			t.Error(err)
		}
		all = append(all, g.Summary())
	}
	return engines, all
}

// Four clients replay a trace as a whole: each key's operations in the trace's order, of the
// trace's sizes, and every read finds what it must; with the trace's own keys, too.
func TestReplay(t *testing.T) {
	n := 20_000
	if os.Getenv("KVLAB_LONG") == "1" {
		n = 10_000_000
	}
	path, withKeys := traced(t, tracedInputs(1, n)), tracedWith(t, tracedInputs(1, n), true)
	compiled, err := trace.Open(path)
	original, wrong := trace.Open(withKeys)
	if err != nil || wrong != nil {
		t.Fatal(err, wrong)
	}
	for name, change := range map[string]func(*Config){
		"closed":    nil,
		"in flight": func(c *Config) { c.InFlight = 3 },
		"open":      func(c *Config) { c.Rate = profile.Rate{OpsPerS: float64(compiled.Ops) * 4} }, // a quarter of a second
		"prefix":    func(c *Config) { c.Workload.Ops = compiled.Ops / 3 },
		"original": func(c *Config) {
			c.Workload.Replay, c.Workload.TraceKeys, c.KeyPrefix = withKeys, workload.OriginalKeys, "word-"
		},
	} {
		t.Run(name, func(t *testing.T) {
			engines, all := replayed(t, path, 4, change, nil)
			c := small()
			c.Workload.Replay = path
			keys, want := newKeys(c.keys()), map[string][]string{}
			ops := compiled.Ops
			if name == "prefix" {
				ops /= 3
			}
			for i := range ops {
				op := compiled.Op(i)
				key, _ := keys.key(uint64(op.ID))
				if name == "original" { // the ids are the same
					key = slices.Concat([]byte("word-"), original.Text(uint64(op.ID)))
				} else if _, length, _ := compiled.Key(uint64(op.ID)); len(key) != max(length, len(fmt.Sprint(op.ID))) {
					t.Fatalf("key %s has %d bytes, want %d", key, len(key), length)
				}
				want[string(key)] = append(want[string(key)], fmt.Sprintf("%s %d", kvs.Kind(op.Kind), op.Size))
			}
			rest := 0
			for key, done := range want {
				got := append(engines[0].done[key], engines[1].done[key]...) // one of them has none
				if len(got) == len(done)+1 && got[len(done)] == "get 0" {
					got = got[:len(done)] // of the audit
					rest++
				}
				if fmt.Sprint(got) != fmt.Sprint(done) {
					t.Fatalf("key %s: %v, want %v", key, got, done)
				}
			}
			var total metrics.Counts
			for _, s := range all {
				if s.Verification.Failures > 0 {
					t.Error(s.Verification.First)
				}
				for _, p := range s.Peers {
					total = total.Add(p.Drawn())
				}
			}
			if total.Ops() != ops || name != "prefix" && rest < len(want) && n < 100_000 {
				t.Errorf("%d operations are counted, want %d; %d of %d keys were read afterwards", total.Ops(), ops, rest, len(want))
			}
		})
	}
}

// Every fault of a store in a replay is found, and told with its reason.
func TestReplayFaults(t *testing.T) {
	seeds := uint64(2)
	if os.Getenv("KVLAB_LONG") == "1" {
		seeds = 10
	}
	elsewhere := func(op *kvs.Op) {
		op.Key = append([]byte(nil), op.Key...)
		op.Key[len(op.Key)-1] = '!'
	}
	one := func(kind kvs.Kind, fault func(ops []kvs.Op, i int) bool) func(*rand.Rand) func([]kvs.Op) {
		return func(r *rand.Rand) func([]kvs.Op) {
			var mu sync.Mutex
			left, faults := 50+r.IntN(100), 20
			return func(ops []kvs.Op) {
				mu.Lock()
				defer mu.Unlock()
				for i := range ops {
					if ops[i].Kind != kind || faults == 0 {
						continue
					}
					if left--; left < 0 && fault(ops, i) {
						faults--
						left = r.IntN(50)
					}
				}
			}
		}
	}
	for _, test := range []struct {
		name, want string
		fault      func(*rand.Rand) func([]kvs.Op)
	}{
		{"lost write", "want ", one(kvs.Put, func(ops []kvs.Op, i int) bool { elsewhere(&ops[i]); return true })},
		{"swapped value", "get: ", one(kvs.Get, func(ops []kvs.Op, i int) bool {
			for k := range i {
				if ops[k].Kind == kvs.Get && string(ops[k].Key) != string(ops[i].Key) {
					ops[k].Key, ops[i].Key = ops[i].Key, ops[k].Key
					return true
				}
			}
			return false
		})},
		{"skipped delete", "absent", one(kvs.Delete, func(ops []kvs.Op, i int) bool { elsewhere(&ops[i]); return true })},
		{"reordered key", "want ", one(kvs.Put, func(ops []kvs.Op, i int) bool {
			for k := range i {
				if ops[k].Kind == kvs.Put && string(ops[k].Key) == string(ops[i].Key) {
					ops[k].Value, ops[i].Value = ops[i].Value, ops[k].Value
					return true
				}
			}
			return false
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range seeds {
				path := traced(t, tracedInputs(seed, 8000))
				_, all := replayed(t, path, 2, nil, test.fault(rand.New(rand.NewPCG(seed, 1))))
				failures, first := uint64(0), ""
				for _, s := range all {
					failures += s.Verification.Failures
					first += s.Verification.First
				}
				if failures == 0 || !strings.Contains(first, test.want) {
					t.Errorf("seed %d: %d failures: %s", seed, failures, first)
				}
			}
		})
	}
}

// A trace that begins again has new keys for those that it does not load, and finds what the last
// pass left under the others.
func TestReplayLoop(t *testing.T) {
	path := traced(t, tracedInputs(3, 300))
	c := small()
	c.Workload.Replay, c.Workload.ReplayLoop, c.WarmUp, c.Window = path, true, 0, 100*time.Millisecond
	c.Transport, c.Engine = "inproc", "mutex"
	if _, err := c.Workload.Resolve(); err != nil {
		t.Fatal(err)
	}
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := g.Measure(context.Background(), func(metrics.Phase) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s := g.Summary()
	drawn := uint64(0)
	for i, a := range s.Workers {
		drawn += a.Drawn
		if a.Opening != a.Redrawn {
			t.Errorf("worker %d: %+v", i, a)
		}
	}
	if s.Verification.Failures > 0 || s.Total.Ops() < drawn {
		t.Errorf("%d operations drawn, %+v: %s", drawn, s.Total, s.Verification.First)
	}
	plan, err := workload.New(c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	for w := range c.Workers {
		source, seen := plan.Source(c.place(w)), map[uint64]bool{}
		ops := make([]workload.Op, 900)
		source.Fill(ops)
		var kinds [workload.Kinds]uint64
		for i, op := range ops {
			kinds[op.Kind]++
			if op.Kind == workload.Insert && seen[op.Key] {
				t.Fatalf("worker %d: operation %d inserts record %d again", w, i, op.Key)
			}
			seen[op.Key] = seen[op.Key] || op.Kind == workload.Insert
		}
		if got := plan.Kinds(c.place(w), 900); got != kinds {
			t.Errorf("worker %d: kinds %v, want %v", w, got, kinds)
		}
	}
}

// BenchmarkReplay measures the client's half of an operation of a trace up to the send, as
// BenchmarkRound does those of YCSB-B: its x-step is to be at most twice as large.
func BenchmarkReplay(b *testing.B) {
	r, zipf := rand.New(rand.NewPCG(1, 1)), rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.01, 1, 999_999)
	var inputs []trace.Input
	for range 2_000_000 {
		in := trace.Input{Command: trace.Get, Name: "get", Key: binary.LittleEndian.AppendUint64(nil, zipf.Uint64()), Length: 8, Size: 128, Times: 1}
		if r.IntN(20) == 0 {
			in.Command = trace.Set
		}
		inputs = append(inputs, in)
	}
	for _, servers := range []int{1, 4} {
		b.Run(fmt.Sprintf("servers=%d", servers), func(b *testing.B) {
			c := DefaultConfig()
			c.Workers = 1
			c.Hosts = slices.Repeat([]string{"127.0.0.1:1"}, servers)
			c.Workload.Replay, c.Workload.ReplayLoop = traced(b, inputs), true
			if _, err := c.Workload.Resolve(); err != nil {
				b.Fatal(err)
			}
			benchmarkRound(b, c, (*worker).add)
		})
	}
}
