package slab

import (
	"sync"
	"sync/atomic"
)

// epochs decide when a block that was removed from the index may be reused: when
// every participant that may have found it has left (Fraser: "Practical
// lock-freedom", 2004, section 5.2.3). A participant records the epoch in which it
// enters. A block is free when all participants inside entered in a later epoch than
// that of its retirement. A new epoch can begin at any time.
type epochs struct {
	now atomic.Uint64 // from 1 on
	_   [56]byte

	all  atomic.Pointer[[]*participant] // replaced, never changed
	mu   sync.Mutex                     // guards replacing all
	idle sync.Pool                      // of *participant: the last that left on this processor; a hint
}

func newEpochs() *epochs {
	e := new(epochs)
	e.now.Store(1)
	e.all.Store(new([]*participant))
	return e
}

// enter returns a participant for the calling goroutine, until it leaves.
func (e *epochs) enter(a *arena) *participant {
	now := e.now.Load()
	if p, _ := e.idle.Get().(*participant); p != nil && p.inside.CompareAndSwap(0, now) {
		return p
	}
	for _, p := range *e.all.Load() {
		if p.inside.Load() == 0 && p.inside.CompareAndSwap(0, now) {
			return p
		}
	}
	p := &participant{epochs: e, arena: a, enough: enoughBlocks}
	p.inside.Store(now)
	e.mu.Lock()
	defer e.mu.Unlock()
	old := *e.all.Load()
	all := append(old[:len(old):len(old)], p)
	e.all.Store(&all)
	return p
}

// inhabited reports whether a participant is inside that entered in epoch or before.
func (e *epochs) inhabited(epoch uint64) bool {
	for _, p := range *e.all.Load() {
		if inside := p.inside.Load(); inside != 0 && inside <= epoch {
			return true
		}
	}
	return false
}
