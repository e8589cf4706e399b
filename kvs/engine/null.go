package engine

import (
	"bytes"
	"sync/atomic"

	"kvlab/kvs"
)

// Null keeps one value, of the length that was stored last, and returns it for
// every key. A client measures all of the path but the store against it: a ceiling
// for every engine on the same path. Its results decode, have the right size, and
// are wrong.
type Null struct {
	value atomic.Pointer[[]byte] // never written to; nil until the first write
}

// NewNull returns an engine in which every key is missing until the first write.
func NewNull() *Null { return &Null{} }

// Len is 0: Null keeps no keys.
func (*Null) Len() int { return 0 }

// Apply executes ops in order, as if every key had the one value.
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
