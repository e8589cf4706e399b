package loadgen

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/workload"
)

// liar is an engine that answers correctly until a test makes it lie. A lie changes
// operations before the engine or results after it.
type liar struct {
	kvs.Engine
	lying  atomic.Bool
	before func(ops []kvs.Op) []kvs.Op                         // what the engine is given
	after  func(ops []kvs.Op, right []kvs.Result) []kvs.Result // what is answered
}

func (l *liar) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if !l.lying.Load() {
		l.Engine.Apply(ops, reply)
		return
	}
	given := ops
	if l.before != nil {
		given = l.before(ops)
	}
	var honest kvs.Reply
	honest.Reset()
	l.Engine.Apply(given, &honest)
	results := make([]kvs.Result, honest.Len())
	cursor := honest.Results()
	for i := range results {
		results[i], _ = cursor.Next()
		results[i].Value = bytes.Clone(results[i].Value)
	}
	if l.after != nil {
		results = l.after(ops, results)
	}
	for i, r := range results {
		switch {
		case i < len(ops) && ops[i].Kind == kvs.Delete && !r.Read:
			reply.Removed()
		case r.Found:
			reply.Found(r.Value)
		case r.Read:
			reply.Missing()
		default:
			reply.Stored()
		}
	}
	honest.Free()
}

// oneFound applies a lie to the first result of each Apply that found a value.
func oneFound(lie func(op kvs.Op, r *kvs.Result)) func([]kvs.Op, []kvs.Result) []kvs.Result {
	return func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		for i := range results {
			if results[i].Found {
				lie(ops[i], &results[i])
				break
			}
		}
		return results
	}
}

// stranger returns a value for a key by a writer that is not in the run.
func stranger(op kvs.Op, r *kvs.Result) {
	r.Value = newValue(len(r.Value), route.Hash(op.Key), value.NewWriter(9, 0))
}

// forget returns a miss for a key that is stored.
func forget(_ kvs.Op, r *kvs.Result) { *r = kvs.Result{Read: true} }

// swapped exchanges the first two values of different keys.
func swapped(ops []kvs.Op, results []kvs.Result) []kvs.Result {
	first := -1
	for i := range results {
		switch {
		case !results[i].Found:
		case first < 0:
			first = i
		case !bytes.Equal(ops[i].Key, ops[first].Key):
			results[first], results[i] = results[i], results[first]
			return results
		}
	}
	return results
}

// Each lie of a server in the window is found: as a failed check, as a miss, or as an
// error that ends the run. No operation with a lie counts.
func TestLiesInWindow(t *testing.T) {
	var kept sync.Map // key -> another key's value
	tests := []struct {
		name   string
		liar   *liar
		verify int
		want   string // in the first failure or in the error; "" for misses
	}{
		{"two results swapped", &liar{after: swapped}, 16, "the value of another key"},
		{"another key's value", &liar{after: oneFound(func(op kvs.Op, r *kvs.Result) {
			if other, ok := kept.Swap(len(op.Key)%2, bytes.Clone(r.Value)); ok {
				r.Value = other.([]byte)
			}
		})}, 16, "the value of another key"},
		{"a value of another run", &liar{after: oneFound(stranger)}, 16, "which does not exist"},
		{"a bit of the key hash", &liar{after: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value[3] ^= 4 })}, 16, "the value of another key"},
		{"a bit of the version", &liar{after: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value[9] ^= 1 })}, 16, "check bytes"},
		{"a bit of the check bytes", &liar{after: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value[20] ^= 128 })}, 16, "check bytes"},
		{"a bit of the body, all compared", &liar{after: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value[99] ^= 1 })}, 1, "a value whose last 4 bytes are"},
		{"a bit of the body, one in 16 compared", &liar{after: func(_ []kvs.Op, results []kvs.Result) []kvs.Result {
			for i := range results {
				if results[i].Found {
					results[i].Value[50] ^= 1
				}
			}
			return results
		}}, 16, "at offset 48, want"},
		{"a value cut off", &liar{after: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value = r.Value[:90] })}, 16, "a value of 90 bytes, want 100"},
		{"an empty value", &liar{after: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value = nil })}, 16, "an empty value, want 100 bytes"},
		{"a key forgotten", &liar{after: oneFound(forget)}, 16, ""},
		{"a result left out", &liar{after: func(_ []kvs.Op, results []kvs.Result) []kvs.Result { return results[1:] }}, 16, "results for 200 operations"},
		{"a result too many", &liar{after: func(_ []kvs.Op, results []kvs.Result) []kvs.Result { return append(results, kvs.Result{}) }}, 16, "results for 200 operations"},
		{"a Get answered as a Put", &liar{after: oneFound(func(_ kvs.Op, r *kvs.Result) { *r = kvs.Result{} })}, 16, "its result is not"},
		{"a Put answered as a Get", &liar{after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
			for i := range results {
				if ops[i].Kind == kvs.Put {
					results[i] = kvs.Result{Read: true}
				}
			}
			return results
		}}, 16, "is a put, its result is not"},
		{"writes to other keys", &liar{before: func(ops []kvs.Op) []kvs.Op {
			given := bytes.Clone(ops[0].Key)
			changed := append([]kvs.Op(nil), ops...)
			for i := range changed {
				if changed[i].Kind == kvs.Put {
					changed[i].Key = given
				}
			}
			return changed
		}}, 16, "the value of another key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := small()
			c.Workload.Workload, c.Verify = workload.YCSBA, test.verify
			test.liar.Engine = engine.NewMutex()
			s := newStore(t, "server0", c.Codec, test.liar)
			c.Hosts = []string{s.addr}
			g := connected(t, c)
			if err := g.Load(context.Background()); err != nil {
				t.Fatal(err)
			}
			test.liar.lying.Store(true)
			err := g.measureOps(5000)
			summary := g.Summary()
			failures := summary.Verification.Failures
			switch {
			case err != nil:
				if !strings.Contains(err.Error(), test.want) || test.want == "" || !strings.Contains(err.Error(), "server0") {
					t.Errorf("error %v, want %q", err, test.want)
				}
			case test.want == "":
				if summary.Total.Misses == 0 || failures != 0 {
					t.Errorf("%d misses and %d failures, want misses only", summary.Total.Misses, failures)
				}
			default:
				if failures == 0 || !strings.Contains(summary.Verification.First, test.want) {
					t.Errorf("%d failures, the first %q; want %q", failures, summary.Verification.First, test.want)
				}
				applied := s.service.Counts()[c.Node]
				if summary.Total.Ops()+failures != applied.Ops() {
					t.Errorf("%d verified and %d wrong, %d applied", summary.Total.Ops(), failures, applied.Ops())
				}
			}
		})
	}
}

// A store that loses or changes records does not pass the load, for any share of
// compared values.
func TestLiesInLoad(t *testing.T) {
	puts := 0
	tests := []struct {
		name string
		liar *liar
		want string
	}{
		{"each 1000th put dropped", &liar{before: func(ops []kvs.Op) []kvs.Op {
			changed := append([]kvs.Op(nil), ops...)
			for i := range changed {
				if changed[i].Kind == kvs.Put {
					if puts++; puts%1000 == 0 {
						changed[i].Key = []byte("lost")
					}
				}
			}
			return changed
		}}, "1 of them are not there"},
		{"a bit of one body", &liar{after: oneFound(func(_ kvs.Op, r *kvs.Result) { r.Value[50] ^= 1 })}, "are wrong; the first: worker 0: get: a value with "},
		{"a stranger's value", &liar{after: oneFound(stranger)}, "which does not exist"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := small()
			c.Workload.Records, c.Workers, c.Verify = 1500, 1, 1000
			test.liar.Engine = engine.NewMutex()
			test.liar.lying.Store(true)
			c.Hosts = []string{newStore(t, "server0", c.Codec, test.liar).addr}
			err := connected(t, c).Load(context.Background())
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "read records 0 to 1500 back") {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func newValue(size int, hash uint64, w value.Writer) []byte {
	v := make([]byte, size)
	value.Fixed.Put(v, hash, w)
	return v
}
