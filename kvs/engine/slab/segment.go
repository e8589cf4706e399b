package slab

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"kvlab/kvs"
)

// A segment is a hash table of a fixed size: open addressing, linear probing. It lies in
// a block. Readers take no lock; writers hold mu.
type segment struct {
	mu    sync.Mutex
	dead  bool  // it was split: its keys are in two others; guarded by mu
	depth uint8 // how many of the hash's high bits all its keys share; fixed
	count int32 // slots that are not 0; guarded by mu
	self  block // where it lies; fixed

	deleted int32       // slots of deleted keys; guarded by mu
	version kvs.Version // of the last write; guarded by mu
	_       [segmentHeader - 32]byte
	slots   [segmentSlots]uint64 // once the segment is in the index, used atomically
}

const (
	segmentSize   = 32 << 10
	segmentHeader = 64 // a cache line
	segmentSlots  = (segmentSize - segmentHeader) / 8

	// segmentFull is the count at which a segment is split.
	segmentFull = segmentSlots * 3 / 4
)

// newSegment makes an empty segment of block b. No other function casts an arena's
// bytes.
func newSegment(a *arena, b block, depth uint8) *segment {
	s := (*segment)(unsafe.Pointer((*[segmentSize]byte)(a.data(b))))
	*s = segment{depth: depth, self: b}
	return s
}

// A slot is 0, or names a record: the lowest 16 bits of its hash above the block
// that it lies in.
func slotOf(hash uint64, b block) uint64 { return hash<<blockBits | uint64(b) }

func blockOf(slot uint64) block { return block(slot & (1<<blockBits - 1)) }

// deleted is the block of a deleted key's slot: the first word of the arena, which is 0
// and so a record with an empty key, which no operation has.
const deleted = block(1 << placeBits)

// home returns the slot where the search for a hash begins. It depends on other bits
// of it than slotOf, and than the index, which takes the highest.
func home(hash uint64) uint32 { return uint32(hash & 0xffffffff * segmentSlots >> 32) }

// slot returns a slot's address. &s.slots[i] would also read the first byte of s as
// a nil check, and the first bytes of all segments map to the same few cache sets.
func (s *segment) slot(i uint32) *uint64 {
	return (*uint64)(unsafe.Add(unsafe.Pointer(s), segmentHeader+8*uintptr(i)))
}

// find returns the first slot from number i on that is 0 or may be that of a key
// with this hash, and its number.
func (s *segment) find(hash uint64, i uint32) (uint64, uint32) {
	for {
		if i == segmentSlots {
			i = 0
		}
		slot := atomic.LoadUint64(s.slot(i))
		if slot == 0 || slot>>blockBits == hash&0xffff {
			return slot, i
		}
		i++
	}
}

// add puts a slot where its key belongs. The key is new, the segment has room,
// and no other goroutine can see it.
func (s *segment) add(hash, slot uint64) {
	i := home(hash)
	for s.slots[i] != 0 {
		if i++; i == segmentSlots {
			i = 0
		}
	}
	s.slots[i] = slot
	s.count++
}

// remove takes the key in slot i out. A search for another key must not end there, unless
// it would end at the next slot.
func (s *segment) remove(i uint32) {
	if *s.slot((i + 1) % segmentSlots) != 0 {
		atomic.StoreUint64(s.slot(i), slotOf(0, deleted))
		s.deleted++
		return
	}
	for {
		atomic.StoreUint64(s.slot(i), 0)
		s.count--
		i = (i + segmentSlots - 1) % segmentSlots
		if blockOf(*s.slot(i)) != deleted {
			return
		}
		s.deleted--
	}
}

// vacant returns the slot for a new key that belongs at i, which is 0: that of a deleted
// key before it, if there is one.
func (s *segment) vacant(hash uint64, i uint32) uint32 {
	for j := home(hash); j != i; j = (j + 1) % segmentSlots {
		if blockOf(*s.slot(j)) == deleted {
			return j
		}
	}
	return i
}
