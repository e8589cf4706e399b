package engines

import (
	"sync"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// rwMutex is a map behind one sync.RWMutex. Readers do not exclude each other, but all of
// them write to the lock's reader count. Consecutive operations that are all Gets, or none
// a Get, take the lock once.
type rwMutex struct {
	mu     sync.RWMutex
	values map[string][]byte // guarded by mu; values are immutable
}

// Len returns the number of keys.
func (m *rwMutex) Len() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.values)
}

// Apply executes ops in order; see kvs.Engine.
func (m *rwMutex) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for len(ops) > 0 {
		n := 1
		for n < len(ops) && (ops[n].Kind == kvs.Get) == (ops[0].Kind == kvs.Get) {
			n++
		}
		lock := m.mu.RLocker()
		if ops[0].Kind != kvs.Get {
			lock = &m.mu
		}
		lock.Lock()
		for i := range ops[:n] {
			old, ok := engine.Exchange(m.values, &ops[i])
			reply.Answer(ops[i].Kind, old, ok)
		}
		lock.Unlock()
		ops = ops[n:]
	}
}
