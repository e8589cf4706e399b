package loadgen

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/workload"
)

func randomRoutes(g *Generator) {
	for i, w := range g.workers {
		w.router = anywhere{g.config.Servers(), rand.New(rand.NewPCG(g.config.Workload.Seed, uint64(i)))}
	}
}

// bodies writes values with changed bodies, and restores the right ones when they are
// read.
func bodies(spoil func(body []byte)) func(*Generator) {
	return everyConn(func(_ *worker, c driver.Conn) driver.Conn {
		return &rewriting{Conn: c, forward: func(op kvs.Op) (kvs.Op, bool) {
			if op.Kind.Writes() {
				op.Value = append([]byte(nil), op.Value...)
				spoil(op.Value[value.HeaderLen:])
			}
			return op, true
		}, restore: func(op kvs.Op, r *kvs.Result) {
			if r.Found {
				v := make([]byte, len(r.Value))
				value.Fixed.Put(v, route.Hash(op.Key), value.Writer(binary.LittleEndian.Uint64(r.Value[8:])))
				r.Value = v
			}
		}}
	})
}

// cached answers Gets from the values that it has seen, without regard to later writes.
func cached(_ *worker, c driver.Conn) driver.Conn {
	seen := map[string]bool{}
	return &rewriting{Conn: c, forward: func(op kvs.Op) (kvs.Op, bool) {
		hit := seen[string(op.Key)] && op.Kind == kvs.Get
		seen[string(op.Key)] = true
		return op, !hit
	}}
}

// otherKeys sends the operations on each record from number 100 on on another one of
// these that is on the same server, and hides that.
func otherKeys(other func(at, n int) int) func(*worker, driver.Conn) driver.Conn {
	return func(w *worker, c driver.Conn) driver.Conn {
		k := newKeys(route.Keys{})
		of := make(map[int][]string) // by server
		for id := range uint64(1000) {
			if key, hash := k.key(id); id >= 100 {
				at := w.router.Server(key, hash)
				of[at] = append(of[at], string(key))
			}
		}
		return &rewriting{Conn: c, forward: func(op kvs.Op) (kvs.Op, bool) {
			same := of[w.router.Server(op.Key, route.Hash(op.Key))]
			if at, ok := slices.BinarySearch(same, string(op.Key)); ok {
				op.Key = []byte(same[other(at, len(same))])
			}
			return op, true
		}, restore: restored(w)}
	}
}

// restored gives an operation a right value of its key.
func restored(w *worker) func(kvs.Op, *kvs.Result) {
	return func(op kvs.Op, r *kvs.Result) {
		if r.Found {
			r.Value = newValue(100, route.Hash(op.Key), value.NewWriter(0, w.id))
		}
	}
}

// repeated sends every second operation on the key of the one before.
func repeated(w *worker, c driver.Conn) driver.Conn {
	var last []byte
	repeat := true
	return &rewriting{Conn: c, forward: func(op kvs.Op) (kvs.Op, bool) {
		if repeat = !repeat; repeat {
			op.Key = last
		}
		last = bytes.Clone(op.Key)
		return op, true
	}, restore: restored(w)}
}

// lying makes engines lie from now on.
func lying(_ *Generator, engines []kvs.Engine) {
	for _, e := range engines {
		e.(*liar).lying.Store(true)
	}
}

func updates(c *Config) { c.Workload.Workload = workload.YCSBA }

// losing is a store that acknowledges all puts and applies every nth of some keys as a
// write of the value that the key has.
func losing(some func(key string, hash uint64) bool, nth uint64) *liar {
	inner := engine.NewMutex()
	var count atomic.Uint64
	return &liar{Engine: inner, before: func(ops []kvs.Op) []kvs.Op {
		given := slices.Clone(ops)
		for i, op := range given {
			if op.Kind == kvs.Put && some(string(op.Key), route.Hash(op.Key)) && count.Add(1)%nth == 0 {
				var old kvs.Reply
				old.Reset()
				inner.Apply([]kvs.Op{{Kind: kvs.Get, Key: op.Key}}, &old)
				results := old.Results()
				result, _ := results.Next()
				given[i].Value = bytes.Clone(result.Value)
			}
		}
		return given
	}}
}

// remembering answers 57 % of the reads of a key with the value that it had first.
func remembering() func([]kvs.Op, []kvs.Result) []kvs.Result {
	var mu sync.Mutex
	first, n := map[string][]byte{}, 0
	return func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		mu.Lock()
		defer mu.Unlock()
		for i := range results {
			if !results[i].Found {
				continue
			}
			old, ok := first[string(ops[i].Key)]
			if !ok {
				first[string(ops[i].Key)] = bytes.Clone(results[i].Value)
			} else if n++; n%100 < 57 {
				results[i].Value = old
			}
		}
		return results
	}
}

// deferring acknowledges puts and applies them when a call comes without any, as the audit's do.
func deferring(e kvs.Engine) *liar {
	var mu sync.Mutex
	var held []kvs.Op
	l := &liar{Engine: e, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		for i, op := range ops {
			if op.Kind == kvs.Put {
				results[i] = kvs.Result{}
			}
		}
		return results
	}}
	l.before = func(ops []kvs.Op) []kvs.Op {
		mu.Lock()
		defer mu.Unlock()
		given, n := slices.Clone(ops), len(held)
		for i, op := range ops {
			if op.Kind == kvs.Put {
				held = append(held, kvs.Op{Kind: kvs.Put, Key: bytes.Clone(op.Key), Value: bytes.Clone(op.Value)})
				given[i].Kind = kvs.Get
			}
		}
		if len(held) == n {
			var stored kvs.Reply
			e.Apply(held, &stored)
			held = nil
		}
		return given
	}
	return l
}

// ownView shows a worker the values that it has first seen or written itself, until the audit.
func ownView(w *worker, c driver.Conn) driver.Conn {
	seen := map[string][]byte{}
	return &rewriting{Conn: c, forward: func(op kvs.Op) (kvs.Op, bool) {
		if op.Kind == kvs.Put {
			seen[string(op.Key)] = bytes.Clone(op.Value)
		}
		return op, true
	}, restore: func(op kvs.Op, r *kvs.Result) {
		if !r.Found || w.audited == nil {
			return
		}
		if seen[string(op.Key)] == nil {
			seen[string(op.Key)] = bytes.Clone(r.Value)
		}
		r.Value = seen[string(op.Key)]
	}}
}

// madeUp computes a value from its key, its writer and its version.
func madeUp(op kvs.Op, r *kvs.Result) {
	r.Value = newValue(len(r.Value), route.Hash(op.Key), value.Writer(binary.LittleEndian.Uint64(r.Value[8:])))
}

// expire makes values expire from now on.
func expire(_ *Generator, engines []kvs.Engine) {
	for _, e := range engines {
		e := e.(*expiring)
		e.mu.Lock()
		e.ttl = 2000
		e.mu.Unlock()
	}
}
