package engine

import (
	"sync/atomic"

	"kvlab/kvs/engine/prefetch"
)

// bucket holds the blocks of the keys whose hashes share a prefix: an open-addressing
// table with linear probing. Readers need no lock; writers hold one. Blocks are only
// added, or replaced in place. A full bucket is replaced by a larger one.
type bucket struct {
	replaced atomic.Bool     // by a larger one
	used     int             // blocks; for writers only
	tags     []atomic.Uint32 // of the blocks; 0 for none
	blocks   []atomic.Pointer[block]
}

// empty stands for the buckets without a key. It is full, so that the first key replaces
// it by a bucket of 16.
var empty = &bucket{used: 8, tags: make([]atomic.Uint32, 8), blocks: make([]atomic.Pointer[block], 8)}

// tag returns the low half of a hash, but never 0.
func tag(hash uint64) uint32 { return uint32(hash) | 1 }

// home returns where a key's probing begins. Its bits are neither in the tag nor in the
// bucket's number.
func (b *bucket) home(hash uint64) int { return int(hash>>32) & (len(b.tags) - 1) }

// first returns the first place of a key that may have this hash, or -1. The caller
// compares the keys; next returns the following place.
func (b *bucket) first(hash uint64) int { return b.probe(hash, b.home(hash)) }

func (b *bucket) next(hash uint64, place int) int { return b.probe(hash, place+1) }

func (b *bucket) probe(hash uint64, place int) int {
	want := tag(hash)
	for mask := len(b.tags) - 1; ; place++ {
		switch b.tags[place&mask].Load() {
		case want:
			return place & mask
		case 0:
			return -1
		}
	}
}

// fetch prefetches the lines at which probing begins.
func (b *bucket) fetch(hash uint64, lines *prefetch.List) {
	home := b.home(hash)
	prefetch.Add(lines, &b.tags[home])
	prefetch.Add(lines, &b.blocks[home])
}

// add adds the block of a new key, or returns false if the bucket is full.
func (b *bucket) add(hash uint64, block *block) bool {
	if b.used >= len(b.tags)*3/4 {
		return false
	}
	place := b.home(hash)
	for b.tags[place].Load() != 0 {
		place = (place + 1) & (len(b.tags) - 1)
	}
	b.blocks[place].Store(block)
	b.tags[place].Store(tag(hash)) // last: it makes the block visible to readers
	b.used++
	return true
}

// grown returns a bucket of twice the capacity with the same blocks.
func (b *bucket) grown(hash func(key []byte) uint64) *bucket {
	capacity := 2 * len(b.tags)
	larger := &bucket{tags: make([]atomic.Uint32, capacity), blocks: make([]atomic.Pointer[block], capacity)}
	for i := range b.tags {
		if b.tags[i].Load() != 0 {
			block := b.blocks[i].Load()
			key, _ := block.contents()
			larger.add(hash(key), block)
		}
	}
	return larger
}
