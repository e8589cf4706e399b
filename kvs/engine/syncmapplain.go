package engine

import (
	"bytes"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
)

// syncMapPlain is a sync.Map with one entry a key, as in the labs' servers. The
// zero SyncMapPlain is empty.
type syncMapPlain struct {
	values sync.Map // string -> immutable []byte
	length atomic.Int64
}

// Len returns the number of keys.
func (m *syncMapPlain) Len() int { return int(m.length.Load()) }

// Apply executes ops in order; see kvs.Engine.
func (m *syncMapPlain) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for i := range ops {
		op := &ops[i]
		var old any
		var ok bool
		switch op.Kind {
		case kvs.Get:
			old, ok = m.values.Load(string(op.Key))
		case kvs.Delete:
			if old, ok = m.values.LoadAndDelete(string(op.Key)); ok {
				m.length.Add(-1)
			}
		default:
			if old, ok = m.values.Swap(string(op.Key), bytes.Clone(op.Value)); !ok {
				m.length.Add(1)
			}
		}
		value, _ := old.([]byte)
		reply.Answer(op.Kind, value, ok)
	}
}
