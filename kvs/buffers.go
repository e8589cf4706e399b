package kvs

import "sync"

// warm is the free list of reply buffers of this process. Last in, first out:
// with 64 connections and replies of a megabyte each, the buffer that was
// written last is the only one that is still in a cache. A sync.Pool would do
// nearly the same, but allocates for every slice it is given.
var warm buffers

// maxFree bounds what the list keeps; more is left to the garbage collector.
const maxFree = 256

type buffers struct {
	mu   sync.Mutex
	free [][]byte // guarded by mu
}

// take returns the buffer that was given last, or a new one of capacity n.
// Its capacity is not less than Headroom.
func (b *buffers) take(n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.free) - 1; last >= 0 {
		buf := b.free[last]
		b.free = b.free[:last]
		return buf
	}
	return make([]byte, 0, n)
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
