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

// Len is the number of keys.
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
		op := &ops[i]
		old, ok := m.values[string(op.Key)]
		answer(reply, op.Kind, old, ok)
		if op.Kind.Writes() {
			m.values[string(op.Key)] = bytes.Clone(op.Value)
		}
	}
}

var _ kvs.Engine = (*Mutex)(nil)
