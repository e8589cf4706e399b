package engine

import (
	"bytes"
	"sync/atomic"

	"kvlab/kvs"
)

// Null keeps one value, of the last stored length, and returns it for every key. It
// measures the path without a store: a ceiling for every engine on that path. Its results
// have the right form and size but wrong values.
type Null struct {
	value atomic.Pointer[[]byte] // immutable; nil until the first write
}

// NewNull returns an engine in which every key is missing until the first write.
func NewNull() *Null { return &Null{} }

// Len is 0: Null keeps no keys.
func (*Null) Len() int { return 0 }

// Apply executes ops in order, as if all keys had one value.
func (n *Null) Apply(ops []kvs.Op, reply *kvs.Reply) {
	var value []byte
	stored := n.value.Load()
	if stored != nil {
		value = *stored
	}
	for i := range ops {
		op := &ops[i]
		if op.Kind.Scans() {
			n.scan(op, value, reply)
			continue
		}
		reply.Answer(op.Kind, value, stored != nil)
		if op.Kind.Writes() && (stored == nil || len(value) != len(op.Value)) {
			copied := bytes.Clone(op.Value)
			value, stored = copied, &copied
			n.value.Store(stored)
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
