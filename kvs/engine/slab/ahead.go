package slab

import "sync"

// ahead populates memory beyond what an arena has handed out, in the
// background. A goroutine that touches a new page first waits until the system
// has cleared it. Several that touch the same huge page at once each clear one,
// and the system keeps one of them.
type ahead struct {
	arena *arena
	ready uint64 // the first byte that is not populated; guarded by arena.mu
	busy  bool   // a goroutine populates; guarded by arena.mu

	mu     sync.Mutex // held while the system populates
	closed bool       // the memory is unmapped; guarded by mu
}

// aheadStep is how many bytes are populated at a time: a huge page.
const aheadStep = 2 << 20

// keep starts to populate memory if less than aheadMost is ready. The caller
// holds arena.mu.
func (h *ahead) keep() {
	if !h.busy && h.due() {
		h.busy = true
		go h.run()
	}
}

// due reports whether less than aheadMost is ready. The caller holds arena.mu.
func (h *ahead) due() bool { return h.ready < h.arena.next*8+aheadMost }

func (h *ahead) run() {
	for step := h.step(); step != nil; step = h.step() {
		h.mu.Lock()
		if !h.closed {
			populate(step)
		}
		h.mu.Unlock()
	}
}

// step returns the memory to populate next, or nil if enough is ready.
func (h *ahead) step() []byte {
	a := h.arena
	a.mu.Lock()
	defer a.mu.Unlock()
	if h.due() {
		h.ready = max(h.ready, a.next*8&^(aheadStep-1)) // the arena may be past it
		if region, err := a.region(h.ready / regionSize); err == nil {
			start := h.ready % regionSize
			h.ready += aheadStep
			return region[start : start+aheadStep]
		} // extend reports the error when the region is needed
	}
	h.busy = false
	return nil
}

// close waits for a step under way and prevents further ones.
func (h *ahead) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}
