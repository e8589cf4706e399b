package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/tidwall/btree"

	"kvlab/kvs"
	"kvlab/kvs/engine/enginetest"
)

// A deep bTree, of nodes of one to three keys, is as right as one of the usual degree.
func TestDeepBTree(t *testing.T) {
	enginetest.Run(t, nil, func() kvs.Engine { return &bTree{tree: btree.NewMap[string, *block](2)} })
}

// A record takes the memory that bTree's comment says. Nodes differ by what splits of the
// last keys left.
func TestBTreeMemory(t *testing.T) {
	const records = 100_000
	const block = 160 // size class of 8 bytes, a key of 17 and a value of 128
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	ascending := make([]int, records)
	for i := range ascending {
		ascending[i] = i
	}
	for _, test := range []struct {
		order string
		ids   []int
		nodes float64
	}{
		{"ascending", ascending, 52},
		{"random", rand.New(rand.NewPCG(1, 0)).Perm(records), 36},
	} {
		before := heap()
		e, value := newBTree(), make([]byte, 128)
		var reply kvs.Reply
		for ids := range slices.Chunk(test.ids, 256) {
			var ops []kvs.Op
			for _, id := range ids {
				ops = append(ops, kvs.Op{Kind: kvs.Insert, Key: fmt.Appendf(nil, "user%013d", id), Value: value})
			}
			reply.Reset()
			e.Apply(ops, &reply)
		}
		reply.Free()
		each := (heap() - before) / records
		if want := block + test.nodes; each < want-6 || each > want+6 {
			t.Errorf("keys in %s order: a record takes %.1f bytes, want %.0f", test.order, each, want)
		}
		runtime.KeepAlive(e)
	}
}

// A write copies only what a snapshot shares: without reads, none; and Gets and scans
// allocate nothing but the snapshot's header.
func TestBTreeAllocations(t *testing.T) {
	e := newBTree()
	var puts, reads []kvs.Op
	for i := range 200 {
		key := fmt.Appendf(nil, "user%013d", i)
		puts = append(puts, kvs.Op{Kind: kvs.Put, Key: key, Value: make([]byte, 128)})
		reads = append(reads, kvs.Op{Kind: kvs.Get, Key: key}, kvs.Op{Kind: kvs.Scan, Key: key, Value: []byte{100}})
	}
	var reply kvs.Reply
	apply := func(ops []kvs.Op) func() {
		return func() {
			reply.Reset()
			e.Apply(ops, &reply)
		}
	}
	apply(puts)()
	apply(reads)()
	apply(puts)()
	if n := testing.AllocsPerRun(20, apply(puts)); n != 200 {
		t.Errorf("%v allocations for 200 Puts, want a block each", n)
	}
	apply(reads)()
	if n := testing.AllocsPerRun(20, apply(reads)); n != 0 {
		t.Errorf("%v allocations for 400 reads", n)
	}
}
