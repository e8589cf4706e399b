package engines

import (
	"bytes"

	"github.com/puzpuzpuz/xsync/v4"

	"kvlab/kvs"
)

// xsyncMap is the concurrent map of github.com/puzpuzpuz/xsync, used as documented.
type xsyncMap struct {
	values *xsync.Map[string, []byte] // values are immutable
}

// newXSync returns an empty engine.
func newXSync() *xsyncMap { return &xsyncMap{xsync.NewMap[string, []byte]()} }

// Len returns the number of keys.
func (x *xsyncMap) Len() int { return x.values.Size() }

// Apply executes ops in order; see kvs.Engine.
func (x *xsyncMap) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for i := range ops {
		op := &ops[i]
		var old []byte
		var ok bool
		switch op.Kind {
		case kvs.Get:
			old, ok = x.values.Load(string(op.Key))
		case kvs.Delete:
			old, ok = x.values.LoadAndDelete(string(op.Key))
		default:
			old, ok = x.values.LoadAndStore(string(op.Key), bytes.Clone(op.Value))
		}
		reply.Answer(op.Kind, old, ok)
	}
}
