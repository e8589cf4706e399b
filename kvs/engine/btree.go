package engine

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tidwall/btree"

	"kvlab/kvs"
)

// bTree keeps keys in order, in a B-tree of github.com/tidwall/btree. It has the kinds Scan
// and ScanPart.
//
// Writers take turns at one tree. Consecutive reads and scans use one snapshot, without a
// lock: the last that was taken or, after a write, a new one. To take one copies a header;
// then the next write copies the nodes from the root to its key, some 5 KB among a million
// keys. So a load, which reads nothing, copies nothing, and no scan holds up a writer.
//
// A record takes its block (8 bytes, its key and its value, rounded up to a size class of
// the collector) and an entry of 24 bytes in a node: 36 bytes for keys that come in random
// order, 52 for ascending ones, which leave nodes half full.
type bTree struct {
	mu       sync.Mutex
	tree     *tree                // guarded by mu
	snapshot atomic.Pointer[tree] // of tree; nil if it has changed since
}

// tree's keys are the keys of its blocks, in their memory.
type tree = btree.Map[string, *block]

func newBTree() *bTree { return &bTree{tree: btree.NewMap[string, *block](0)} }

// Len returns the number of keys.
func (t *bTree) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tree.Len()
}

// Apply executes ops in order; see kvs.Engine.
func (t *bTree) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for len(ops) > 0 {
		n := 1
		for n < len(ops) && changes(ops[n].Kind) == changes(ops[0].Kind) {
			n++
		}
		if changes(ops[0].Kind) {
			t.write(ops[:n], reply)
		} else {
			t.read(ops[:n], reply)
		}
		ops = ops[n:]
	}
}

func changes(kind kvs.Kind) bool { return kind.Writes() || kind == kvs.Delete }

// write executes operations that change the tree.
func (t *bTree) write(ops []kvs.Op, reply *kvs.Reply) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.snapshot.Store(nil)
	for i := range ops {
		op := &ops[i]
		var old *block
		var ok bool
		if op.Kind == kvs.Delete {
			old, ok = t.tree.Delete(view(op.Key))
		} else {
			block := newBlock(op.Key, op.Value)
			key, _ := block.contents()
			old, ok = t.tree.Set(view(key), block)
		}
		answer(reply, op.Kind, old, ok)
	}
}

// read executes operations that change nothing, on one snapshot.
func (t *bTree) read(ops []kvs.Op, reply *kvs.Reply) {
	tree := t.current()
	for i := range ops {
		op := &ops[i]
		if op.Kind.Scans() {
			scan(tree, op, reply)
			continue
		}
		block, ok := tree.Get(view(op.Key))
		answer(reply, op.Kind, block, ok)
	}
}

// current returns a snapshot of the tree as it is.
func (t *bTree) current() *tree {
	if s := t.snapshot.Load(); s != nil {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.snapshot.Load(); s != nil {
		return s
	}
	s := t.tree.Copy()
	t.snapshot.Store(s)
	return s
}

// scan executes a scan of a snapshot.
func scan(tree *tree, op *kvs.Op, reply *kvs.Reply) {
	start, left := reply.BeginPairs(), op.Limit()
	tree.Ascend(view(op.Key), func(_ string, block *block) bool {
		reply.Pair(block.contents())
		left--
		return left > 0
	})
	reply.EndPairs(start)
}

// answer appends the result of an operation on a key that had a block, if ok.
func answer(reply *kvs.Reply, kind kvs.Kind, old *block, ok bool) {
	var value []byte
	if ok {
		_, value = old.contents()
	}
	reply.Answer(kind, value, ok)
}

// view returns a string in the memory of key.
func view(key []byte) string { return unsafe.String(unsafe.SliceData(key), len(key)) }
