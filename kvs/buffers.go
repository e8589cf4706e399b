package kvs

import (
	"slices"
	"sync"
)

// warm is the free list of reply buffers of this process. Last in, first out:
// with 64 connections and replies of a megabyte each, the buffer that was
// written last is the only one that is still in a cache. A sync.Pool would do
// nearly the same, but allocates for every slice it is given.
var warm buffers

// maxFree bounds what the list keeps; more is left to the garbage collector.
const maxFree = 256

// lookEvery is after how many takes the list parts with what nobody has needed
// meanwhile. Without that, one moment in which all connections had a reply under
// way would keep memory for all of them for good.
const lookEvery = 4096

type buffers struct {
	mu    sync.Mutex
	free  [][]byte // guarded by mu, as all below
	taken int      // since the last look
	idle  int      // the fewest that were free since then
}

// take returns the buffer that was given last, or a new one of capacity n.
// Its capacity is not less than Headroom.
func (b *buffers) take(n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken++; b.taken == lookEvery {
		b.trim()
	}
	last := len(b.free) - 1
	b.idle = max(min(b.idle, last), 0)
	if last >= 0 {
		buf := b.free[last]
		b.free[last] = nil
		b.free = b.free[:last]
		return buf
	}
	return make([]byte, 0, n)
}

// trim leaves half of what was idle to the garbage collector: of what was given
// first, which is in no cache any more.
func (b *buffers) trim() {
	b.free = slices.Delete(b.free, 0, (b.idle+1)/2)
	b.taken, b.idle = 0, len(b.free)
}

func (b *buffers) give(buf []byte) {
	if cap(buf) < Headroom {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) < maxFree {
		b.free = append(b.free, buf[:0])
	}
}
