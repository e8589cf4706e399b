package kvs

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	// KeyGroups is how many groups KeyGroup sorts keys into.
	KeyGroups = 64
	// KeyCells is how many cells KeyCell sorts them into, a power of two: so many
	// that a popular key is nearly alone in its own, and all of a sample's counters
	// (128 KiB) stay in the second-level cache.
	KeyCells = 1 << cellBits
	cellBits = 14
	// sampleEvery is of how many operations of a session one is sampled: few
	// enough that hashing its key costs less than 1 ns an operation.
	sampleEvery = 32
	// maxSampled is how many bytes of values a sample keeps, and maxSampledValue
	// how many of one value.
	maxSampled, maxSampledValue = 32 << 10, 4 << 10
)

// KeyGroup is the group of the keys with a KeyHash, from 0 to KeyGroups-1.
func KeyGroup(hash uint64) int { return KeyCell(hash) / (KeyCells / KeyGroups) }

// KeyCell is their cell, from 0 to KeyCells-1: Fibonacci hashing, because FNV's
// highest bits know little of the last bytes.
func KeyCell(hash uint64) int { return int(hash * goldenSection >> (64 - cellBits)) }

// Sample is one operation in 32 of those that a service was sent, by its place
// in its session and by nothing else. It is safe for concurrent use.
type Sample struct {
	cells [KeyCells]atomic.Uint64
	full  atomic.Bool // values takes no more

	mu     sync.Mutex
	values []byte // guarded by mu
	count  int    // of values; guarded by mu
}

// Groups returns how many operations were on keys of each group.
func (s *Sample) Groups() []uint64 {
	groups := make([]uint64, KeyGroups)
	for i := range s.cells {
		groups[i/(KeyCells/KeyGroups)] += s.cells[i].Load()
	}
	return groups
}

// CellCount is how many sampled operations were on keys of a cell.
type CellCount struct {
	Cell int // as KeyCell has it
	Ops  uint64
}

// Busiest returns the cells that had the most operations, at most n, the one
// with the most first; none of them had none.
func (s *Sample) Busiest(n int) []CellCount {
	var all []CellCount
	for i := range s.cells {
		if ops := s.cells[i].Load(); ops > 0 {
			all = append(all, CellCount{i, ops})
		}
	}
	slices.SortFunc(all, func(a, b CellCount) int { return cmp.Or(cmp.Compare(b.Ops, a.Ops), a.Cell-b.Cell) })
	return slices.Clone(all[:min(n, len(all))])
}

// Values returns the first of the sampled values that were written, 32 KiB of
// them at most and up to 4 KiB of each, one behind the other, and their number.
func (s *Sample) Values() (count int, all []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count, append([]byte(nil), s.values...)
}

func (s *Sample) add(op *Op) {
	s.cells[KeyCell(KeyHash(op.Key))].Add(1)
	if op.Kind.Writes() && !s.full.Load() {
		s.keep(op.Value)
	}
}

func (s *Sample) keep(value []byte) {
	value = value[:min(len(value), maxSampledValue)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.values)+len(value) > maxSampled {
		s.full.Store(true)
		return
	}
	s.values = append(s.values, value...)
	s.count++
}

// skip is how many of a batch's n operations come before the first that is
// sampled.
func (s *Session) skip(n int) int {
	came := s.seen.Add(uint64(n)) - uint64(n)
	return int(-came % sampleEvery)
}

// picker takes a batch's sampled operations out of its chunks.
type picker struct {
	sample *Sample
	skip   int // operations before the next one that is sampled
}

func (p *picker) pick(ops []Op) {
	for ; p.skip < len(ops); p.skip += sampleEvery {
		p.sample.add(&ops[p.skip])
	}
	p.skip -= len(ops)
}
