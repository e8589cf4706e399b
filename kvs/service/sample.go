package service

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/route"
)

const (
	// sampleEvery is of how many operations of a session one is sampled: few
	// enough that hashing its key costs less than 1 ns an operation.
	sampleEvery = 32
	// maxSampled is how many bytes of values a sample keeps, and maxSampledValue
	// how many of one value.
	maxSampled, maxSampledValue = 32 << 10, 4 << 10
)

// Sample is one operation in 32 of those that a service was sent, by its place
// in its session and by nothing else. It is safe for concurrent use.
type Sample struct {
	cells [route.Cells]atomic.Uint64
	full  atomic.Bool // values takes no more

	mu     sync.Mutex
	values []byte // guarded by mu
	count  int    // of values; guarded by mu
}

// Groups returns how many operations were on keys of each group.
func (s *Sample) Groups() []uint64 {
	groups := make([]uint64, route.Groups)
	for i := range s.cells {
		groups[i/(route.Cells/route.Groups)] += s.cells[i].Load()
	}
	return groups
}

// CellCount is how many sampled operations were on keys of a cell.
type CellCount struct {
	Cell int // as route.Cell has it
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

func (s *Sample) add(op *kvs.Op) {
	s.cells[route.Cell(route.Hash(op.Key))].Add(1)
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
func (s *Conn) skip(n int) int {
	came := s.seen.Add(uint64(n)) - uint64(n)
	return int(-came % sampleEvery)
}

// picker takes a batch's sampled operations out of its chunks.
type picker struct {
	sample *Sample
	skip   int // operations before the next one that is sampled
}

func (p *picker) pick(ops []kvs.Op) {
	for ; p.skip < len(ops); p.skip += sampleEvery {
		p.sample.add(&ops[p.skip])
	}
	p.skip -= len(ops)
}
