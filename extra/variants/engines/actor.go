package engines

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// actor is one map a processor, each owned by a goroutine, which alone reads and writes it.
// Apply sends each goroutine the operations on its keys in one message, and waits for all of
// them.
type actor struct {
	seed    maphash.Seed
	shards  []chan *errand // of the goroutines
	length  atomic.Int64
	errands sync.Pool
}

// errand is an Apply in flight.
type errand struct {
	ops     []kvs.Op
	shards  [][]uint32    // by shard: the numbers of its operations, in order
	old     []storedValue // of each operation's key
	pending sync.WaitGroup
}

type storedValue struct {
	value []byte // immutable
	ok    bool
}

// newActor returns an empty engine, and starts the goroutines, which end with Close.
func newActor() *actor {
	a := &actor{seed: maphash.MakeSeed(), shards: make([]chan *errand, runtime.GOMAXPROCS(0))}
	a.errands.New = func() any { return &errand{shards: make([][]uint32, len(a.shards))} }
	for i := range a.shards {
		a.shards[i] = make(chan *errand, 64)
		go a.serve(i)
	}
	return a
}

// Len returns the number of keys.
func (a *actor) Len() int { return int(a.length.Load()) }

// Close ends the goroutines. No Apply may be in flight.
func (a *actor) Close() error {
	for _, shard := range a.shards {
		close(shard)
	}
	return nil
}

// Apply executes ops in order; see kvs.Engine.
func (a *actor) Apply(ops []kvs.Op, reply *kvs.Reply) {
	e := a.errands.Get().(*errand)
	e.ops, e.old = ops, slices.Grow(e.old[:0], len(ops))[:len(ops)]
	for i := range ops {
		shard, _ := bits.Mul64(maphash.Bytes(a.seed, ops[i].Key), uint64(len(a.shards)))
		e.shards[shard] = append(e.shards[shard], uint32(i))
	}
	for i, shard := range a.shards {
		if len(e.shards[i]) > 0 {
			e.pending.Add(1)
			shard <- e
		}
	}
	e.pending.Wait()
	for i := range ops {
		reply.Answer(ops[i].Kind, e.old[i].value, e.old[i].ok)
	}
	e.ops = nil
	clear(e.old)
	a.errands.Put(e)
}

// serve owns the map of a shard.
func (a *actor) serve(shard int) {
	values := map[string][]byte{}
	for e := range a.shards[shard] {
		before := len(values)
		for _, i := range e.shards[shard] {
			old, ok := engine.Exchange(values, &e.ops[i])
			e.old[i] = storedValue{old, ok}
		}
		e.shards[shard] = e.shards[shard][:0]
		a.length.Add(int64(len(values) - before))
		e.pending.Done()
	}
}
