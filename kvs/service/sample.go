package service

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/metrics"
)

const (
	// sampleEvery says that one operation in 32 is sampled, so that hashing its key costs
	// less than 1 ns an operation.
	sampleEvery = 32
	// A sample keeps maxSampled bytes of values, maxSampledValue of each.
	maxSampled, maxSampledValue = 32 << 10, 4 << 10
)

// Sample holds one operation in 32 of each batch, from a random one of the first 32 on, but
// no part of a scan, whose key another server owns.
// It is safe for concurrent use.
type Sample struct {
	cells  [route.Cells]atomic.Uint64
	keys   keyCounts
	writes keyCounts     // of the operations that changes accepts
	pairs  atomic.Uint64 // sampled operations whose successor in the batch is known
	equal  atomic.Uint64 // pairs whose two operations are on the same key
	full   atomic.Bool   // values takes no more

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

// Keys returns the numbers of operations on some keys.
func (s *Sample) Keys() *metrics.KeyCounts { return s.keys.report() }

// Writes returns the numbers of puts, read-modify-writes and deletes on some keys.
func (s *Sample) Writes() *metrics.KeyCounts { return s.writes.report() }

// Pairs returns the number of sampled pairs of successive operations of a batch, neither of
// which is an insert or a part of a scan, and how many of them are on one key.
func (s *Sample) Pairs() (all, equal uint64) { return s.pairs.Load(), s.equal.Load() }

// Values returns the first of the sampled values that were written, concatenated, and
// their number: at most 32 KiB, and 4 KiB of each.
func (s *Sample) Values() (count int, all []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count, slices.Clone(s.values)
}

// add samples an operation, and returns its key's hash.
func (s *Sample) add(op *kvs.Op) uint64 {
	hash := route.Hash(op.Key)
	s.cells[route.Cell(hash)].Add(1)
	if op.Kind.Writes() && !s.full.Load() {
		s.keep(op.Value)
	}
	return hash
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

// picker takes the sampled operations out of a batch's chunks.
type picker struct {
	sample *Sample
	skip   int // operations before the next sampled one
}

// newPicker begins a batch at a random operation, so that no pattern of the operations
// excludes any.
func newPicker(sample *Sample) picker { return picker{sample, int(rand.Uint32() % sampleEvery)} }

// pick samples operations of a chunk at most. Most calls of few operations have none to
// sample.
func (p *picker) pick(ops []kvs.Op) {
	if p.skip >= len(ops) {
		p.skip -= len(ops)
		return
	}
	p.take(ops)
}

// draws reports whether a workload draws the key of an operation of the kind. Workers
// insert their keys in order, and send the parts of a scan beside it.
func draws(k kvs.Kind) bool { return k != kvs.Insert && k != kvs.ScanPart }

// changes reports whether an operation of the kind changes a record whose key a workload draws.
func changes(k kvs.Kind) bool { return k == kvs.Put || k == kvs.ReadModifyWrite || k == kvs.Delete }

// take samples the operations of a chunk from number skip on.
func (p *picker) take(ops []kvs.Op) {
	var hashes, writes [chunk / sampleEvery]uint64
	n, written, pairs, equal := 0, 0, uint64(0), uint64(0)
	for ; p.skip < len(ops); p.skip += sampleEvery {
		if ops[p.skip].Kind == kvs.ScanPart {
			continue
		}
		hashes[n] = p.sample.add(&ops[p.skip])
		if changes(ops[p.skip].Kind) {
			writes[written] = hashes[n]
			written++
		}
		n++
		if next := p.skip + 1; next < len(ops) && draws(ops[p.skip].Kind) && draws(ops[next].Kind) {
			pairs++
			if bytes.Equal(ops[next].Key, ops[p.skip].Key) {
				equal++
			}
		}
	}
	p.skip -= len(ops)
	p.sample.keys.add(hashes[:n])
	p.sample.writes.add(writes[:written])
	p.sample.pairs.Add(pairs)
	if equal > 0 {
		p.sample.equal.Add(equal)
	}
}
