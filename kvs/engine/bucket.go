package engine

import (
	"sync/atomic"

	"kvlab/kvs/engine/prefetch"
)

// bucket holds the blocks of the keys whose hashes share a prefix: an open-addressing
// table with linear probing. Readers need no lock; writers hold one. Blocks are only
// added, or replaced in place: that of a deleted key by deleted, whose place is used again
// when a key of the same tag is stored, as this one. A full bucket is replaced by another
// one without deleted blocks, which is larger unless they were many.
type bucket struct {
	replaced atomic.Bool     // by another one
	used     int             // blocks, deleted ones too; for writers only
	tags     []atomic.Uint32 // of the blocks; 0 for none
	blocks   []atomic.Pointer[block]
}

// empty stands for the buckets without a key. It is full, so that the first key replaces
// it by a bucket of 16.
var empty = &bucket{used: 16, tags: make([]atomic.Uint32, 16), blocks: make([]atomic.Pointer[block], 16)}

// deleted stands for the blocks of deleted keys. No operation has its key, which is empty.
// It has a second word because contents makes a pointer to what follows the first.
var deleted = &new([2]block)[0]

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

// grown returns a bucket with the same blocks but deleted ones. It has twice the capacity
// if half of it would be too small.
func (b *bucket) grown(hash func(key []byte) uint64) *bucket {
	live := make([]*block, 0, b.used)
	for i := range b.blocks {
		if block := b.blocks[i].Load(); block != nil && block != deleted {
			live = append(live, block)
		}
	}
	capacity := len(b.tags)
	if len(live) > capacity*3/8 {
		capacity *= 2
	}
	larger := &bucket{tags: make([]atomic.Uint32, capacity), blocks: make([]atomic.Pointer[block], capacity)}
	for _, block := range live {
		key, _ := block.contents()
		larger.add(hash(key), block)
	}
	return larger
}
