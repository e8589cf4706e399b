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
	execute(&m.mu, m.values, ops, reply)
}

// execute applies ops to a map under its lock.
func execute(lock sync.Locker, values map[string][]byte, ops []kvs.Op, reply *kvs.Reply) {
	lock.Lock()
	defer lock.Unlock()
	for i := range ops {
		old, ok := exchange(values, &ops[i])
		reply.Answer(ops[i].Kind, old, ok)
	}
}

// exchange applies an operation to a map, and returns the previous value of its key.
func exchange(values map[string][]byte, op *kvs.Op) (old []byte, ok bool) {
	old, ok = values[string(op.Key)]
	if op.Kind.Writes() {
		values[string(op.Key)] = bytes.Clone(op.Value)
	} else if op.Kind == kvs.Delete {
		delete(values, string(op.Key))
	}
	return old, ok
}
