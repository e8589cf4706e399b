package slab

import (
	"runtime"
	"sync/atomic"
	"time"

	"kvlab/kvs/engine/prefetch"
)

// participant is one goroutine's stay in an engine, and what it leaves to the
// next: memory to use, and blocks that wait to be free. From enter to leave it
// belongs to that goroutine.
type participant struct {
	inside atomic.Uint64 // the epoch in which it entered; 0: nobody is in
	_      [56]byte

	epochs *epochs
	arena  *arena
	free   [classes][]block

	young      []block // retired
	youngBytes int
	enough     int     // how many of them are worth a look
	old        []block // retired in epoch oldEpoch or before
	oldEpoch   uint64

	added int64 // keys

	// The window's operations: their hashes, and their slots as they were when
	// fetchRecords came by.
	hashes, slots [window]uint64
	changed       changed // since the slots were read
	lines         prefetch.List
}

// Retired blocks wait until there are so many that a look at every participant
// costs little for each, or take so much memory.
const (
	enoughBlocks = 64
	enoughBytes  = 256 << 10
)

// holdsNothing is an epoch later than all.
const holdsNothing = ^uint64(0)

// leave ends the stay.
func (p *participant) leave() {
	p.inside.Store(0)
	p.epochs.idle.Put(p)
}

// quiesce is called when the participant holds nothing that it found in the
// index. Now and then it enters again, and frees the blocks that nobody can see
// any more.
func (p *participant) quiesce() {
	if len(p.young) < p.enough && p.youngBytes < enoughBytes {
		return
	}
	p.inside.Store(p.epochs.now.Load())
	if len(p.old) > 0 && p.epochs.inhabited(p.oldEpoch) {
		if p.youngBytes < enoughBytes {
			p.enough = len(p.young) + enoughBlocks
			return
		}
		p.wait()
	}
	for _, b := range p.old {
		p.release(b)
	}
	p.old, p.young, p.youngBytes = p.young, p.old[:0], 0
	p.oldEpoch = p.epochs.now.Add(1) - 1
	p.enough = enoughBlocks
}

// wait lets others run until nobody can see the old blocks any more: one who was
// inside when the scheduler took its processor away needs one to leave. Nobody
// waits for one who waits here, as it holds nothing.
func (p *participant) wait() {
	p.inside.Store(holdsNothing)
	for i := 0; p.epochs.inhabited(p.oldEpoch); i++ {
		if i < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(50 * time.Microsecond) // the system's scheduler has it
		}
	}
	p.inside.Store(p.epochs.now.Load())
}

// retire takes over a block that is no longer in the index.
func (p *participant) retire(b block) {
	p.young = append(p.young, b)
	p.youngBytes += wordsOf(b.class()) * 8
}

// alloc returns a block for size bytes, of undefined content. It panics when the
// arena has none.
func (p *participant) alloc(size int) block {
	class := classOf(size)
	free := p.free[class]
	if len(free) == 0 {
		var err error
		if free, err = p.arena.take(class, free); err != nil {
			panic(err)
		}
	}
	last := len(free) - 1
	p.free[class] = free[:last]
	return free[last]
}

// release makes a block free that nobody can see. What is more than two chunks
// goes to the arena, for the others.
func (p *participant) release(b block) {
	class := b.class()
	free := append(p.free[class], b)
	if chunk := chunkOf(class); len(free) > 2*chunk {
		p.arena.give(class, free[chunk:])
		free = free[:chunk]
	}
	p.free[class] = free
}
