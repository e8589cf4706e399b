package slab

import "sync"

// ahead keeps memory behind what an arena has handed out ready to be written to,
// while others go on: a page that is first touched by who stores a record stops
// it until the system has cleared the page, and those who touch the same huge
// page at once each clear one, of which one is used.
type ahead struct {
	arena *arena
	ready uint64 // the first byte that was not asked for; guarded by arena.mu
	busy  bool   // a goroutine is at it; guarded by arena.mu

	mu     sync.Mutex // held while the system is asked
	closed bool       // the memory is gone; guarded by mu
}

// aheadStep is how many bytes the system is asked for at a time: a huge page.
const aheadStep = 2 << 20

// keep starts to make memory ready, if that is due. The caller holds arena.mu.
func (h *ahead) keep() {
	if !h.busy && h.due() {
		h.busy = true
		go h.run()
	}
}

// due says whether less than aheadMost is ready. The caller holds arena.mu.
func (h *ahead) due() bool { return h.ready < h.arena.next*8+aheadMost }

func (h *ahead) run() {
	for {
		step := h.step()
		if step == nil {
			return
		}
		h.mu.Lock()
		if !h.closed {
			populate(step)
		}
		h.mu.Unlock()
	}
}

// step returns the memory to make ready next, or nil if there is enough.
func (h *ahead) step() []byte {
	a := h.arena
	a.mu.Lock()
	defer a.mu.Unlock()
	if h.due() {
		h.ready = max(h.ready, a.next*8&^(aheadStep-1)) // others were faster
		if region, err := a.region(h.ready / regionSize); err == nil {
			start := h.ready % regionSize
			h.ready += aheadStep
			return region[start : start+aheadStep]
		} // whoever needs it will say so
	}
	h.busy = false
	return nil
}

// close waits until the system is not being asked, and ends it.
func (h *ahead) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}
