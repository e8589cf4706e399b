package engine

import (
	"bytes"
	"sync"

	"kvlab/kvs"
)

// Mutex is a map behind one sync.Mutex, as in the labs' first step. An Apply takes the
// lock once.
type Mutex struct {
	mu     sync.Mutex
	values map[string][]byte // guarded by mu
}

// NewMutex returns an empty engine.
func NewMutex() *Mutex { return &Mutex{values: map[string][]byte{}} }

// Len returns the number of keys.
func (m *Mutex) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.values)
}

// Apply executes ops in order; see kvs.Engine.
func (m *Mutex) Apply(ops []kvs.Op, reply *kvs.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range ops {
		old, ok := Exchange(m.values, &ops[i])
		reply.Answer(ops[i].Kind, old, ok)
	}
}

// Exchange applies an operation to a map, and returns the previous value of its key. Values
// of the map are immutable.
func Exchange(values map[string][]byte, op *kvs.Op) (old []byte, ok bool) {
	old, ok = values[string(op.Key)]
	if op.Kind.Writes() {
		values[string(op.Key)] = bytes.Clone(op.Value)
	} else if op.Kind == kvs.Delete {
		delete(values, string(op.Key))
	}
	return old, ok
}
