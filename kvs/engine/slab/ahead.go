package slab

import (
	"runtime"
	"sync"
	"time"
)

// ahead keeps memory behind what an arena has handed out ready to be written to,
// while others go on: a page that is first touched by who stores a record stops
// it until the system has cleared the page, and those who touch the same huge
// page at once each clear one, of which one is used.
type ahead struct {
	arena *arena
	ready uint64 // the first byte that was not asked for; guarded by arena.mu
	goal  uint64 // what is ready at least, however little is in use; guarded by arena.mu
	busy  int    // goroutines that are at it; guarded by arena.mu
	seen  uint64 // arena.next when settle looked last; guarded by arena.mu

	mu     sync.RWMutex // held shared while the system is asked
	closed bool         // the memory is gone; guarded by mu
}

// aheadStep is how many bytes the system is asked for at a time: a huge page.
const aheadStep = 2 << 20

// keep starts to make memory ready, if that is due. The caller holds arena.mu.
func (h *ahead) keep() {
	if h.busy == 0 && h.due() {
		h.busy++
		go h.run()
	}
}

// due says whether less than aheadMost, or than the goal, is ready. The caller
// holds arena.mu.
func (h *ahead) due() bool { return h.ready < max(h.arena.next*8+aheadMost, h.goal) }

func (h *ahead) run() {
	for {
		step := h.step()
		if step == nil {
			return
		}
		h.mu.RLock()
		if !h.closed {
			populate(step)
		}
		h.mu.RUnlock()
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
	h.busy--
	return nil
}

// reach makes size bytes more than are in use ready, and returns when they are.
// Several goroutines ask for them: the system clears as many pages at a time.
func (h *ahead) reach(size uint64) {
	var group sync.WaitGroup
	h.arena.mu.Lock()
	first := h.goal == 0
	h.goal = max(h.goal, h.arena.next*8+size)
	for range min(aheadWorkers, runtime.GOMAXPROCS(0)) {
		h.busy++
		group.Go(h.run)
	}
	h.arena.mu.Unlock()
	group.Wait()
	if first {
		time.AfterFunc(aheadPause, h.settle)
	}
}

const (
	aheadWorkers = 4

	// aheadPause is for how long nothing is stored until what reach has made
	// ready is taken for too much.
	aheadPause = 10 * time.Second
)

// settle gives memory back that reach has made ready and nobody uses, once the
// arena does not grow any more.
func (h *ahead) settle() {
	h.arena.mu.Lock()
	grows := h.arena.next != h.seen
	h.seen = h.arena.next
	if !grows {
		h.goal = 0
	}
	h.arena.mu.Unlock()
	if grows {
		time.AfterFunc(aheadPause, h.settle)
		return
	}
	for h.giveBack() {
	}
}

// giveBack gives the last step back that is ready, if keep would not have asked
// for it. It is as short a stop for who needs memory as the system makes it.
func (h *ahead) giveBack() bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	h.arena.mu.Lock()
	defer h.arena.mu.Unlock()
	if h.closed || h.busy > 0 || h.ready < h.arena.next*8+aheadMost+2*aheadStep {
		return false
	}
	h.ready -= aheadStep
	start := h.ready % regionSize
	unpopulate(h.arena.regions[h.ready/regionSize][start : start+aheadStep])
	return true
}

// close waits until the system is not being asked, and ends it.
func (h *ahead) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}
