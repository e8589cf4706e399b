package slab

import (
	"sync"
	"sync/atomic"
)

// index leads from a hash to the segment that its key is in: extendible hashing
// (Fagin, Nievergelt, Pippenger, Strong: "Extendible hashing - a fast access
// method for dynamic files", ACM TODS 4(3), 1979). It grows by splitting one
// segment at a time: the writers of that segment wait until its 3,000 records
// have moved, readers do not.
type index struct {
	table atomic.Pointer[directory]
	mu    sync.Mutex // guards replacing table, and writing its entries
}

// directory holds, for each value of a hash's high bits, the segment of the keys
// that begin so. A segment that shares fewer bits stands in several entries.
// Readers of a directory that has been replaced find segments that were split
// since then, as they were at that moment.
type directory struct {
	shift   uint // 64 - the number of bits
	entries []atomic.Pointer[segment]
}

func (d *directory) segment(hash uint64) *segment {
	return d.entries[hash>>d.shift].Load()
}

func (x *index) segment(hash uint64) *segment { return x.table.Load().segment(hash) }

// startBits makes an index begin with 64 segments, which fill a huge page. With one,
// all writers would wait for its lock.
const startBits = 6

// mostStartBits bounds the segments of an empty index: 65,536, which take 2 GiB and
// hold 190 million records. Further ones come by splitting.
const mostStartBits = 16

// bitsFor returns how many bits select a segment when records fill their segments
// to 15/16: segmentFull is then 3.6 standard deviations above the mean.
func bitsFor(records uint64) uint {
	bits := uint(startBits)
	for bits < mostStartBits && records>>bits > segmentFull*15/16 {
		bits++
	}
	return bits
}

// start gives an index its first 1<<bits segments.
func (x *index) start(a *arena, bits uint) error {
	d := &directory{shift: 64 - bits, entries: make([]atomic.Pointer[segment], 1<<bits)}
	var free []block
	for i := range d.entries {
		if len(free) == 0 {
			var err error
			if free, err = a.take(classOf(segmentSize), free); err != nil {
				return err
			}
		}
		last := len(free) - 1
		d.entries[i].Store(newSegment(a, free[last], uint8(bits)))
		free = free[:last]
	}
	x.table.Store(d)
	return nil
}

// replace puts low and high, which share one bit more, in the place of the
// segment of hash.
func (x *index) replace(hash uint64, low, high *segment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d, depth := x.table.Load(), uint(low.depth)
	grown := 64-d.shift < depth
	if grown {
		d = d.doubled()
	}
	each := 1 << (64 - d.shift - depth) // entries
	first := int(hash>>(64-depth+1)) * each * 2
	for i := range each {
		d.entries[first+i].Store(low)
		d.entries[first+each+i].Store(high)
	}
	if grown {
		x.table.Store(d)
	}
}

func (d *directory) doubled() *directory {
	double := &directory{shift: d.shift - 1, entries: make([]atomic.Pointer[segment], 2*len(d.entries))}
	for i := range double.entries {
		double.entries[i].Store(d.entries[i/2].Load())
	}
	return double
}
