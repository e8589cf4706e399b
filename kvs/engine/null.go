package engine

import (
	"bytes"
	"sync/atomic"

	"kvlab/kvs"
)

// NullName is the name of the engine Null.
const NullName = "null"

// Null keeps one value, of the last stored length, and returns it for every key. It
// measures the path without a store: a ceiling for every engine on that path. Its results
// have the right form and size but wrong values.
type Null struct {
	value atomic.Pointer[[]byte] // immutable; nil until the first write
}

// NewNull returns an engine in which every key is missing until the first write.
func NewNull() *Null { return &Null{} }

// Len returns 0: Null keeps no keys.
func (*Null) Len() int { return 0 }

// Value returns the value of every key; found is false before the first write.
func (n *Null) Value() (value []byte, found bool) {
	if stored := n.value.Load(); stored != nil {
		return *stored, true
	}
	return nil, false
}

// Keep makes a value that of every key, unless it is as long as the one before.
func (n *Null) Keep(value []byte) {
	if now, found := n.Value(); !found || len(now) != len(value) {
		n.value.Store(new(bytes.Clone(value)))
	}
}

// Apply executes ops in order, as if all keys had one value.
func (n *Null) Apply(ops []kvs.Op, reply *kvs.Reply) {
	value, found := n.Value()
	for i := range ops {
		op := &ops[i]
		if op.Kind.Scans() {
			n.scan(op, value, reply)
			continue
		}
		reply.Answer(op.Kind, value, found)
		if op.Kind.Writes() && (!found || len(value) != len(op.Value)) {
			n.Keep(op.Value)
			value, found = n.Value()
		}
	}
}

// scan answers a scan with as many pairs as it may have, all of its first key.
func (*Null) scan(op *kvs.Op, value []byte, reply *kvs.Reply) {
	start := reply.BeginPairs()
	for range op.Limit() {
		reply.Pair(op.Key, value)
	}
	reply.EndPairs(start)
}
