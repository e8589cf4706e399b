// Package disk holds the engines that store on disk: Pebble and Badger, two LSM trees.
//
//	disk    a call: its writes are one batch, which its reads see
//	pebble  github.com/cockroachdb/pebble/v2
//	badger  github.com/dgraph-io/badger/v4, and as Flin uses it
package disk

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// store is what an LSM tree does for an engine. Its errors end the engine.
type store interface {
	// view returns a reader of all that was written before.
	view() view
	// write executes operations that change keys, in order, and returns when later views
	// see them.
	write(ops []kvs.Op) error
	// commit returns when all that was written or read before is as durable as is promised.
	commit() error
	close() error
}

// view reads a store. It belongs to one goroutine.
type view interface {
	// get returns a key's value, which is valid until the next call.
	get(key []byte) (value []byte, ok bool, err error)
	// scan visits the pairs from a key on, in the keys' order and as they are at one moment,
	// until visit returns false. Without values it visits keys alone.
	scan(from []byte, values bool, visit func(key, value []byte) bool) error
	close() error
}

// tree is an engine over a store.
type tree struct {
	store  store
	single bool        // each operation is a write of its own
	fail   func(error) // reports the first error
	failed atomic.Bool

	writes  atomic.Uint64 // that have ended
	mu      sync.Mutex
	counted uint64 // writes that length has seen; guarded by mu
	length  int    // guarded by mu

	// A call that reads what it replaces excludes other writes until its own are visible: an
	// LSM tree writes blindly. The others hold it for reading while they write.
	exchange sync.RWMutex
}

// Len counts the keys, which takes a scan of all, and remembers the number until a write.
func (t *tree) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	writes, n := t.writes.Load(), 0
	if t.length > 0 && t.counted == writes {
		return t.length
	}
	v := t.store.view()
	err := v.scan(nil, false, func([]byte, []byte) bool {
		n++
		return true
	})
	t.check(err)
	t.check(v.close())
	t.length, t.counted = n, writes
	return n
}

// Commit returns when the operations of the Applies before it are durable; see kvs.Durable.
func (t *tree) Commit() error {
	err := t.store.commit()
	if err != nil {
		t.end(err)
	}
	return err
}

// Close closes the store, unless it has failed: it then waits for what never comes.
func (t *tree) Close() error {
	if t.failed.Load() {
		return nil
	}
	return t.store.close()
}

// end reports an error after which the store cannot be used.
func (t *tree) end(err error) {
	t.failed.Store(true)
	if t.fail != nil {
		t.fail(err)
	}
}

// check panics for an error, which is then the call's.
func (t *tree) check(err error) {
	if err != nil {
		t.end(err)
		panic(err)
	}
}

// exchanges reports whether an operation reads what it replaces.
func exchanges(op kvs.Op) bool { return op.Kind == kvs.ReadModifyWrite || op.Kind == kvs.Delete }

func changes(kind kvs.Kind) bool { return kind.Writes() || kind == kvs.Delete }

// Apply executes a call's operations in order; see kvs.Engine. Its writes become visible
// together, at its end and before each of its scans.
func (t *tree) Apply(ops []kvs.Op, reply *kvs.Reply) {
	c := calls.Get().(*call)
	defer c.free()
	c.tree = t
	if slices.ContainsFunc(ops, exchanges) {
		t.exchange.Lock()
		defer t.exchange.Unlock()
		c.exclusive = true
	}
	for i := range ops {
		op := &ops[i]
		if op.Kind.Scans() {
			c.scan(op, reply)
			continue
		}
		if op.Kind.Reads() || op.Kind == kvs.Delete {
			value, ok := c.get(op.Key)
			reply.Answer(op.Kind, value, ok)
		} else {
			reply.Stored()
		}
		if changes(op.Kind) {
			c.change(op)
		}
	}
	c.write()
}

// call is an Apply in progress.
type call struct {
	tree      *tree
	view      view           // nil before the first read, and after a write
	exclusive bool           // it holds tree.exchange
	ops       []kvs.Op       // that change keys and are not written yet
	last      map[string]int // the last of ops on each key, whose memory is the operation's
}

var calls = sync.Pool{New: func() any { return &call{last: map[string]int{}} }}

// free makes the call ready for another. Its view may be open after a panic.
func (c *call) free() {
	if c.view != nil {
		_ = c.view.close() // the panic says more
	}
	clear(c.ops)
	clear(c.last)
	*c = call{ops: c.ops[:0], last: c.last}
	calls.Put(c)
}

// get reads a key.
func (c *call) get(key []byte) (value []byte, ok bool) {
	if len(c.ops) > 0 {
		if i, ok := c.last[text(key)]; ok {
			op := &c.ops[i]
			return op.Value, op.Kind != kvs.Delete
		}
	}
	if c.view == nil {
		c.view = c.tree.store.view()
	}
	value, ok, err := c.view.get(key)
	c.tree.check(err)
	return value, ok
}

// change keeps an operation that changes its key until write.
func (c *call) change(op *kvs.Op) {
	c.ops = append(c.ops, *op)
	c.last[text(op.Key)] = len(c.ops) - 1
	if c.tree.single {
		c.write()
	}
}

// scan executes a scan.
func (c *call) scan(op *kvs.Op, reply *kvs.Reply) {
	c.write()
	if c.view == nil {
		c.view = c.tree.store.view()
	}
	start, left := reply.BeginPairs(), op.Limit()
	c.tree.check(c.view.scan(op.Key, true, func(key, value []byte) bool {
		reply.Pair(key, value)
		left--
		return left > 0
	}))
	reply.EndPairs(start)
}

// write makes the changes visible.
func (c *call) write() {
	if len(c.ops) > 0 {
		c.tree.check(c.writeOps())
		c.tree.writes.Add(1)
		c.ops = c.ops[:0]
		clear(c.last)
	}
	if v := c.view; v != nil {
		c.view = nil
		c.tree.check(v.close())
	}
}

func (c *call) writeOps() error {
	if !c.exclusive {
		c.tree.exchange.RLock()
		defer c.tree.exchange.RUnlock()
	}
	return c.tree.store.write(c.ops)
}

// text returns a string in the memory of key.
func text(key []byte) string { return unsafe.String(unsafe.SliceData(key), len(key)) }

// row returns the row of an engine over the store that open opens.
func row(name, description, module string, single bool, syncs []engine.Sync, open func(engine.Options) (store, error)) engine.Row {
	return engine.Row{
		Name: name, Description: fmt.Sprintf("on disk: %s %s", description, version(module)), Syncs: syncs,
		Open: func(o engine.Options) (kvs.Engine, error) {
			t := &tree{single: single, fail: o.Fail}
			o.Fail = t.end
			var err error
			t.store, err = open(o)
			return t, err
		},
	}
}

// version returns the version of a module in this program; "" if it is not known, as in a test.
func version(module string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return ""
}
