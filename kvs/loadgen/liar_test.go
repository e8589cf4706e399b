package loadgen

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
)

// liar is an engine that takes one batch at a time, and answers correctly until a test makes
// it lie. A lie changes operations before the engine or results after it.
type liar struct {
	kvs.Engine
	before func(ops []kvs.Op) []kvs.Op                         // what the engine is given; nil for the operations
	after  func(ops []kvs.Op, right []kvs.Result) []kvs.Result // what is answered; nil for the results

	mu    sync.Mutex
	lying bool // guarded by mu
}

// lie makes the engine lie from now on.
func (l *liar) lie() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lying = true
}

func (l *liar) Apply(ops []kvs.Op, reply *kvs.Reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lying || l.before == nil && l.after == nil {
		l.Engine.Apply(ops, reply)
		return
	}
	given := ops
	if l.before != nil {
		given = l.before(ops)
	}
	results := applied(l.Engine, given)
	if l.after != nil {
		results = l.after(ops, results)
	}
	answer(ops, results, reply)
}

// answer adds the results of operations to a reply.
func answer(ops []kvs.Op, results []kvs.Result, reply *kvs.Reply) {
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
}

// applied returns copies of the results of operations.
func applied(e kvs.Engine, ops []kvs.Op) []kvs.Result {
	var reply kvs.Reply
	reply.Reset()
	e.Apply(ops, &reply)
	return taken(&reply)
}

// taken takes the results out of a reply.
func taken(reply *kvs.Reply) []kvs.Result {
	results := make([]kvs.Result, reply.Len())
	cursor := reply.Results()
	for i := range results {
		results[i], _ = cursor.Next()
		results[i].Value = bytes.Clone(results[i].Value)
	}
	reply.Free()
	return results
}

// answers returns a liar that changes results.
func answers(lie func(ops []kvs.Op, right []kvs.Result) []kvs.Result) func(kvs.Engine) *liar {
	return func(e kvs.Engine) *liar { return &liar{Engine: e, after: lie} }
}

// oneFound returns a liar that changes the first result of each batch that found a value.
func oneFound(lie func(op kvs.Op, r *kvs.Result)) func(kvs.Engine) *liar {
	return answers(func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		if i := slices.IndexFunc(results, func(r kvs.Result) bool { return r.Found }); i >= 0 {
			lie(ops[i], &results[i])
		}
		return results
	})
}

// eachFound returns a liar that changes every result that found a value.
func eachFound(lie func(op kvs.Op, r *kvs.Result)) func(kvs.Engine) *liar {
	return answers(func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		for i := range results {
			if results[i].Found {
				lie(ops[i], &results[i])
			}
		}
		return results
	})
}

// allOf returns a liar that gives all operations of a kind one result.
func allOf(kind kvs.Kind, result kvs.Result) func(kvs.Engine) *liar {
	return answers(func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		for i := range results {
			if ops[i].Kind == kind {
				results[i] = result
			}
		}
		return results
	})
}

// loses returns a liar that acknowledges every nth operation of a kind, and in its place writes to
// a key that is below all others.
func loses(kind kvs.Kind, nth int) func(kvs.Engine) *liar {
	return func(e kvs.Engine) *liar {
		n := 0
		return &liar{Engine: e, before: func(ops []kvs.Op) []kvs.Op {
			given := slices.Clone(ops)
			for i := range given {
				if given[i].Kind != kind {
					continue
				}
				if n++; n%nth == 0 {
					given[i] = kvs.Op{Kind: kvs.Put, Key: []byte{0}, Value: []byte("lost")}
				}
			}
			return given
		}}
	}
}

// keeps returns a liar that acknowledges every nth put to some keys, and writes the value that the
// key has.
func keeps(some func(hash uint64) bool, nth int) func(kvs.Engine) *liar {
	return func(e kvs.Engine) *liar {
		n := 0
		return &liar{Engine: e, before: func(ops []kvs.Op) []kvs.Op {
			given := slices.Clone(ops)
			for i, op := range given {
				if op.Kind != kvs.Put || !some(route.Hash(op.Key)) {
					continue
				}
				if n++; n%nth == 0 {
					given[i].Value = applied(e, []kvs.Op{{Kind: kvs.Get, Key: op.Key}})[0].Value
				}
			}
			return given
		}}
	}
}

// newValue returns a value of a writer for the key of a hash.
func newValue(size int, hash uint64, w metrics.WriteID) []byte {
	v := make([]byte, size)
	value.Fixed.Put(v, hash, w)
	return v
}

// stranger answers with a value of a writer that is not in the run.
func stranger(op kvs.Op, r *kvs.Result) {
	r.Value = newValue(len(r.Value), route.Hash(op.Key), metrics.MakeWriteID(9, 0, 0))
}

// madeUp computes a value from its key, its writer and its version.
func madeUp(op kvs.Op, r *kvs.Result) {
	r.Value = newValue(len(r.Value), route.Hash(op.Key), metrics.WriteID(binary.LittleEndian.Uint64(r.Value[8:])))
}

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

// stale returns a liar with a cache that returns each value so many times. Only the writes to it
// invalidate it, and only if they do at all.
func stale(times int, invalidated bool) func(kvs.Engine) *liar {
	type entry struct {
		value []byte
		left  int
	}
	return func(e kvs.Engine) *liar {
		cache := make(map[string]entry)
		return &liar{Engine: e, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
			for i := range results {
				key := string(ops[i].Key)
				if invalidated && ops[i].Kind.Writes() {
					delete(cache, key)
				} else if results[i].Found {
					e := cache[key]
					if e.left == 0 {
						e = entry{bytes.Clone(results[i].Value), times}
					}
					e.left--
					cache[key] = e
					results[i].Value = e.value
				}
			}
			return results
		}}
	}
}

// again returns a liar that applies the first put of each 50th batch again, some batches later,
// like a store that does not recognize a batch that is sent again.
func again(e kvs.Engine) *liar {
	var kept kvs.Op
	batches := 0
	return &liar{Engine: e, before: func(ops []kvs.Op) []kvs.Op {
		batches++
		put := slices.IndexFunc(ops, func(op kvs.Op) bool { return op.Kind == kvs.Put })
		if batches%50 == 0 && put >= 0 {
			kept = kvs.Op{Kind: kvs.Put, Key: bytes.Clone(ops[put].Key), Value: bytes.Clone(ops[put].Value)}
		}
		if batches%50 == 20 && kept.Key != nil {
			return append([]kvs.Op{kept}, ops...)
		}
		return ops
	}, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result { return results[len(results)-len(ops):] }}
}

// expiring returns a liar that forgets what was written 2000 operations ago, or its bytes.
func expiring(forgotten kvs.Result) func(kvs.Engine) *liar {
	return func(e kvs.Engine) *liar {
		born, now := make(map[string]int), 0
		return &liar{Engine: e, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
			for i, op := range ops {
				if now++; op.Kind == kvs.Put {
					born[string(op.Key)] = now
				} else if now-born[string(op.Key)] > 2000 {
					results[i] = forgotten
				}
			}
			return results
		}}
	}
}

// overwriting returns a liar whose each 20th read-modify-write reads the value that it saw last, and
// so loses the later writes of others.
func overwriting(e kvs.Engine) *liar {
	seen := make(map[string][]byte)
	n := 0
	return &liar{Engine: e, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		for i := range results {
			key := string(ops[i].Key)
			if ops[i].Kind == kvs.ReadModifyWrite {
				if n++; n%20 == 0 && seen[key] != nil {
					results[i].Value = seen[key]
				}
				seen[key] = bytes.Clone(ops[i].Value)
			} else if results[i].Found {
				seen[key] = results[i].Value
			}
		}
		return results
	}}
}

// reverting returns a liar that answers each 20th read of a key with the key's first value.
func reverting(e kvs.Engine) *liar {
	first, reads := make(map[string][]byte), make(map[string]int)
	return &liar{Engine: e, after: func(ops []kvs.Op, results []kvs.Result) []kvs.Result {
		for i := range results {
			key := string(ops[i].Key)
			if !results[i].Found {
				continue
			}
			if reads[key]++; reads[key] == 1 {
				first[key] = results[i].Value
			} else if reads[key]%20 == 0 {
				results[i].Value = first[key]
			}
		}
		return results
	}}
}
