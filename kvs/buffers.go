package kvs

import (
	"slices"
	"sync"
)

// replyBuffers is the process's free list of reply buffers. It is last in, first out: with 64
// connections and replies of a megabyte, only the last used buffer is in a cache. A
// sync.Pool would allocate for every slice.
var replyBuffers buffers

// maxFree bounds the list.
const maxFree = 256

// trimEvery is the number of calls of get after which half of the buffers that stayed idle are
// released. Otherwise one burst would pin its peak memory.
const trimEvery = 4096

type buffers struct {
	mu    sync.Mutex
	free  [][]byte // guarded by mu, as all below
	taken int      // since the last trim
	idle  int      // minimum of free buffers since then
}

// get returns the buffer that was put last, or a new one of capacity n. Its capacity
// is at least Headroom.
func (b *buffers) get(n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken++; b.taken == trimEvery {
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

// trim releases half of the idle buffers, the least recently used.
func (b *buffers) trim() {
	b.free = slices.Delete(b.free, 0, (b.idle+1)/2)
	b.taken, b.idle = 0, len(b.free)
}

// put adds a buffer to the list, unless it is full.
func (b *buffers) put(buf []byte) {
	if cap(buf) < Headroom {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) < maxFree {
		b.free = append(b.free, buf[:0])
	}
}
