package engine

import (
	"bytes"
	"sync/atomic"

	"kvlab/kvs"
)

// Null answers without a store: it keeps one value, of the length that was
// stored last, and gives it for every key. Against it a client measures all of
// the path but the store, which is a ceiling for every engine on the same path.
// Its answers decode and have the right size, and are wrong.
type Null struct {
	value atomic.Pointer[[]byte] // never written to; nil until the first write
}

// NewNull returns an engine that has nothing to answer yet: until the first
// write every key is missing.
func NewNull() *Null { return &Null{} }

// Len is 0: no key is kept.
func (*Null) Len() int { return 0 }

// Apply answers ops in order, as if every key had the one value.
func (n *Null) Apply(ops []kvs.Op, reply *kvs.Reply) {
	value := n.value.Load()
	for i := range ops {
		op := &ops[i]
		switch {
		case !op.Kind.Reads():
			reply.Stored()
		case value != nil:
			reply.Found(*value)
		default:
			reply.Missing()
		}
		if op.Kind.Writes() && (value == nil || len(*value) != len(op.Value)) {
			copied := bytes.Clone(op.Value)
			value = &copied
			n.value.Store(value)
		}
	}
}

var _ kvs.Engine = (*Null)(nil)
