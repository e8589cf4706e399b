package service

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/metrics"
)

const (
	// sampleEvery: one operation in 32 of a connection is sampled, so that hashing
	// its key costs less than 1 ns an operation.
	sampleEvery = 32
	// A sample keeps maxSampled bytes of values, maxSampledValue of each.
	maxSampled, maxSampledValue = 32 << 10, 4 << 10
)

// Sample holds one operation in 32, chosen by its position in its connection alone.
// It is safe for concurrent use.
type Sample struct {
	cells [route.Cells]atomic.Uint64
	full  atomic.Bool // values takes no more

	mu     sync.Mutex
	values []byte // guarded by mu
	count  int    // of values; guarded by mu
}

// Groups returns the number of operations on keys of each group.
func (s *Sample) Groups() []uint64 {
	groups := make([]uint64, route.Groups)
	for i := range s.cells {
		groups[i/(route.Cells/route.Groups)] += s.cells[i].Load()
	}
	return groups
}

// Busiest returns the n busiest cells at most, in descending order, without empty ones.
func (s *Sample) Busiest(n int) []metrics.CellOps {
	var all []metrics.CellOps
	for i := range s.cells {
		if ops := s.cells[i].Load(); ops > 0 {
			all = append(all, metrics.CellOps{Cell: i, Ops: ops})
		}
	}
	slices.SortFunc(all, func(a, b metrics.CellOps) int { return cmp.Or(cmp.Compare(b.Ops, a.Ops), a.Cell-b.Cell) })
	return slices.Clone(all[:min(n, len(all))])
}

// Values returns the first of the sampled values that were written, concatenated, and
// their number: at most 32 KiB, and 4 KiB of each.
func (s *Sample) Values() (count int, all []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count, slices.Clone(s.values)
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

// skip returns how many of a batch's n operations come before the first sampled one.
func (c *Conn) skip(n int) int {
	before := c.seen.Add(uint64(n)) - uint64(n)
	return int(-before % sampleEvery)
}

// picker takes the sampled operations out of a batch's chunks.
type picker struct {
	sample *Sample
	skip   int // operations before the next sampled one
}

func (p *picker) pick(ops []kvs.Op) {
	for ; p.skip < len(ops); p.skip += sampleEvery {
		p.sample.add(&ops[p.skip])
	}
	p.skip -= len(ops)
}
