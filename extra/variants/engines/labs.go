package engines

import (
	"bytes"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
)

// The engines whose names begin with labs- are those that the labs' reports compare with the
// one that they kept. All are a plain sync.Map with one entry a key, as engine syncmap-plain,
// and each differs from plain in one thing. Compare them with each other: the profile by
// which cmd/kvsserver is compiled has syncmap-plain's functions, and not theirs.

// table is a sync.Map with one entry a key.
type table struct {
	values sync.Map // string -> immutable []byte
	length atomic.Int64
}

// Len returns the number of keys.
func (t *table) Len() int { return int(t.length.Load()) }

func (t *table) get(key []byte) (value []byte, ok bool) {
	v, ok := t.values.Load(string(key))
	value, _ = v.([]byte)
	return value, ok
}

func (t *table) put(key, value []byte) (old []byte, ok bool) {
	v, ok := t.values.Swap(string(key), bytes.Clone(value))
	if !ok {
		t.length.Add(1)
	}
	old, _ = v.([]byte)
	return old, ok
}

func (t *table) remove(key []byte) (old []byte, ok bool) {
	v, ok := t.values.LoadAndDelete(string(key))
	if ok {
		t.length.Add(-1)
	}
	old, _ = v.([]byte)
	return old, ok
}

func (t *table) apply(op *kvs.Op) (old []byte, ok bool) {
	switch op.Kind {
	case kvs.Get:
		return t.get(op.Key)
	case kvs.Delete:
		return t.remove(op.Key)
	}
	return t.put(op.Key, op.Value)
}

// plain executes each operation on its own.
type plain struct{ table }

func (p *plain) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for i := range ops {
		old, ok := p.apply(&ops[i])
		reply.Answer(ops[i].Kind, old, ok)
	}
}

// grouped executes consecutive operations of one kind together, so that each group needs to
// tell the kinds apart once.
type grouped struct{ table }

func (g *grouped) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for len(ops) > 0 {
		n := 1
		for n < len(ops) && ops[n].Kind == ops[0].Kind {
			n++
		}
		g.group(ops[:n], reply)
		ops = ops[n:]
	}
}

func (g *grouped) group(ops []kvs.Op, reply *kvs.Reply) {
	switch ops[0].Kind {
	case kvs.Get:
		for i := range ops {
			value, ok := g.get(ops[i].Key)
			reply.Answer(kvs.Get, value, ok)
		}
	case kvs.Delete:
		for i := range ops {
			old, ok := g.remove(ops[i].Key)
			reply.Answer(kvs.Delete, old, ok)
		}
	default:
		for i := range ops {
			old, ok := g.put(ops[i].Key, ops[i].Value)
			reply.Answer(ops[0].Kind, old, ok)
		}
	}
}

// counted counts each operation in counters that all connections share. The service's own
// counts, once a call, are beside them.
type counted struct {
	table
	count func(kvs.Kind)
}

func (c *counted) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for i := range ops {
		old, ok := c.apply(&ops[i])
		reply.Answer(ops[i].Kind, old, ok)
		c.count(ops[i].Kind)
	}
}

type lockedCounters struct {
	mu  sync.Mutex
	ops [kvs.Kinds]uint64 // guarded by mu
}

func (c *lockedCounters) add(kind kvs.Kind) {
	c.mu.Lock()
	c.ops[kind]++
	c.mu.Unlock()
}

type atomicCounters [kvs.Kinds]atomic.Uint64

func (c *atomicCounters) add(kind kvs.Kind) { c[kind].Add(1) }

// perKey groups the operations by key, and executes those of each key in a goroutine.
type perKey struct{ table }

func (p *perKey) Apply(ops []kvs.Op, reply *kvs.Reply) {
	type outcome struct {
		value []byte
		ok    bool
	}
	outcomes := make([]outcome, len(ops))
	groups := make(map[string][]int, len(ops))
	for i := range ops {
		groups[string(ops[i].Key)] = append(groups[string(ops[i].Key)], i)
	}
	var pending sync.WaitGroup
	for _, group := range groups {
		pending.Go(func() {
			for _, i := range group {
				outcomes[i].value, outcomes[i].ok = p.apply(&ops[i])
			}
		})
	}
	pending.Wait()
	for i := range ops {
		reply.Answer(ops[i].Kind, outcomes[i].value, outcomes[i].ok)
	}
}
