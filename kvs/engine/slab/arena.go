package slab

import (
	"fmt"
	"sync"
)

const (
	regionSize  = 1 << regionBits
	regionWords = regionSize / 8
	maxRegions  = 1 << 13

	// chunkWords is about how much memory a participant takes from an arena at
	// a time: 32 KiB.
	chunkWords = 32 << 10 / 8
)

// chunkOf returns the number of blocks of class in a chunk.
func chunkOf(class int) int { return max(1, chunkWords/wordsOf(class)) }

// arena is memory in blocks of size classes. It grows by regions, and a block
// that is given back waits for the next of its class. It is safe for concurrent
// use.
type arena struct {
	// regions is written under mu. A holder of a block reads its region without mu:
	// the region was set before the block was handed out.
	regions [maxRegions][]byte

	mu   sync.Mutex
	free [classes][]block // guarded by mu
	next uint64           // the first word never handed out; guarded by mu

	ahead ahead
}

func newArena() *arena {
	a := new(arena)
	a.ahead.arena = a
	return a
}

// data returns the memory from a block's start to the end of its region.
func (a *arena) data(b block) []byte {
	place := b.place()
	return a.regions[place/regionWords][place%regionWords*8:]
}

// take appends blocks of class to free, at least one and at most a chunk. Their
// content is undefined.
func (a *arena) take(class int, free []block) ([]block, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := chunkOf(class)
	if have := len(a.free[class]); have > 0 {
		rest := max(0, have-n)
		free = append(free, a.free[class][rest:]...)
		a.free[class] = a.free[class][:rest]
		return free, nil
	}
	words := wordsOf(class)
	place, err := a.extend(n * words)
	if err != nil {
		return nil, err
	}
	for i := n - 1; i >= 0; i-- { // what comes last is used first
		free = append(free, blockAt(class, place+uint64(i*words)))
	}
	return free, nil
}

// give takes blocks of class back.
func (a *arena) give(class int, blocks []block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.free[class] = append(a.free[class], blocks...)
}

// extend returns the place of words that were never used, in one region, from
// the start of a cache line on. The caller holds mu.
func (a *arena) extend(words int) (uint64, error) {
	const line = 64 / 8
	words = (words + line - 1) &^ (line - 1)
	place := max(a.next, line) // no block is 0
	if place%regionWords+uint64(words) > regionWords {
		place = (place/regionWords + 1) * regionWords
	}
	if _, err := a.region(place / regionWords); err != nil {
		return 0, err
	}
	a.next = place + uint64(words)
	a.ahead.keep()
	return place, nil
}

// region returns a region, which may be new. The caller holds mu.
func (a *arena) region(i uint64) ([]byte, error) {
	if i >= maxRegions {
		return nil, fmt.Errorf("all %d GiB of a slab engine are in use", maxRegions*regionSize>>30)
	}
	if a.regions[i] == nil {
		memory, err := newRegion()
		if err != nil {
			return nil, err
		}
		a.regions[i] = memory
	}
	return a.regions[i], nil
}

// close returns all memory to the system. The arena must not be used afterwards.
func (a *arena) close() {
	a.ahead.close()
	for _, region := range a.regions {
		if region != nil {
			freeRegion(region)
		}
	}
}
