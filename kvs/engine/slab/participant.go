package slab

import (
	"runtime"
	"sync/atomic"
	"time"

	"kvlab/kvs/engine/prefetch"
)

// participant is the state of one goroutine in an engine, from enter to leave. The
// next goroutine that takes it inherits its free memory and its retired blocks.
type participant struct {
	inside atomic.Uint64 // the epoch in which its goroutine entered; 0: no goroutine
	_      [56]byte

	epochs *epochs
	arena  *arena
	free   [classes][]block

	young      []block // retired
	youngBytes int
	enough     int     // the length of young at which quiesce scans
	old        []block // retired in epoch oldEpoch or before
	oldEpoch   uint64

	added int64 // keys

	// The window's operations: their hashes, and their slots as they were when
	// fetchRecords came by.
	hashes, slots [window]uint64
	changed       changed // since the slots were read
	lines         prefetch.List
}

// quiesce scans all participants once this many blocks, or bytes, are retired: the
// cost of the scan is shared among them.
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

// quiesce is called when the participant holds no reference into the index. Once
// enough blocks are retired it enters the current epoch and frees those that no
// participant can see.
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

// wait yields until no participant can see the old blocks: a goroutine that was
// descheduled inside an Apply needs a processor to leave. A waiting participant holds
// no reference, so no other waits for it.
func (p *participant) wait() {
	p.inside.Store(holdsNothing)
	for i := 0; p.epochs.inhabited(p.oldEpoch); i++ {
		if i < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(50 * time.Microsecond) // the kernel descheduled its thread
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

// release frees a block that no participant can see. A list of more than two chunks
// returns its rest to the arena.
func (p *participant) release(b block) {
	class := b.class()
	free := append(p.free[class], b)
	if chunk := chunkOf(class); len(free) > 2*chunk {
		p.arena.give(class, free[chunk:])
		free = free[:chunk]
	}
	p.free[class] = free
}
