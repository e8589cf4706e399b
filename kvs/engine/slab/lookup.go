package slab

import (
	"kvlab/kvs"
	"kvlab/kvs/engine/prefetch"
)

const (
	// window is how many operations are looked up between two calls of quiesce.
	window = 256

	// group is how many operations' slots, and then records, are fetched together:
	// about 24 lines, 1.5 times what a processor fetches at a time.
	group = 8

	// recordLines is how many lines of a record are prefetched. The processor
	// prefetches the rest itself during a copy.
	recordLines = 4
)

// windowOf returns the length of the next window. Large values make it short, so
// that the memory they replace is reused.
func windowOf(ops []kvs.Op) int {
	ops = ops[:min(len(ops), window)]
	size := 0
	for i := range ops {
		if size += len(ops[i].Value); size >= enoughBytes {
			return i + 1
		}
	}
	return len(ops)
}

// fetchSlots hashes the keys of the window's operations from i to end, and prefetches
// their slots.
func (e *Engine) fetchSlots(p *participant, ops []kvs.Op, i, end int) {
	d := e.index.table.Load()
	for ; i < end; i++ {
		hash := e.hash(e.seed, ops[i].Key)
		p.hashes[i] = hash
		prefetch.Add(&p.lines, d.segment(hash).slot(home(hash)))
	}
	p.lines.Fetch()
}

// fetchRecords reads the slots of the window's operations from i to end, and
// prefetches their records; for other kinds than Get, the segment's lock too.
func (e *Engine) fetchRecords(p *participant, ops []kvs.Op, i, end int) {
	d := e.index.table.Load()
	for ; i < end; i++ {
		hash := p.hashes[i]
		s := d.segment(hash)
		slot, _ := s.find(hash, home(hash))
		p.slots[i] = slot
		if ops[i].Kind != kvs.Get {
			prefetch.Add(&p.lines, s)
		}
		if slot == 0 {
			continue
		}
		b := blockOf(slot)
		prefetch.AddRange(&p.lines, &e.arena.data(b)[0], min(b.class()*8, recordLines*prefetch.Line))
	}
	p.lines.Fetch()
}

// execute executes the window's operations from i to end in order.
func (e *Engine) execute(p *participant, ops []kvs.Op, i, end int, reply *kvs.Reply) {
	versioned := reply.Versioned()
	for ; i < end; i++ {
		op := &ops[i]
		if op.Kind != kvs.Get {
			e.write(p, p.hashes[i], op, reply)
			p.changed.add(p.hashes[i])
			continue
		}
		switch r := e.recordAt(p, i, op.Key); {
		case r == nil:
			reply.Missing()
		case versioned:
			reply.FoundVersion(r.key(), r.value(), r.version())
		default:
			reply.Found(r.value())
		}
	}
}

// changed is a set of hashes, of the keys that were changed since their slots were
// read, by the window's operations or, as far as they have seen, by others. It is a
// Bloom filter: 3 % false positives when half of a window are writes.
type changed [64]uint64

func (c *changed) add(hash uint64)      { c[hash>>6%64] |= 1 << (hash % 64) }
func (c *changed) has(hash uint64) bool { return c[hash>>6%64]>>(hash%64)&1 != 0 }

// recordAt returns the record of key for operation i, or nil. If the slot read ahead
// is stale, it searches again and marks the hash as changed: later operations on the
// key must search too, or a batch could read a value older than one it has read.
func (e *Engine) recordAt(p *participant, i int, key []byte) record {
	slot, hash := p.slots[i], p.hashes[i]
	if !p.changed.has(hash) {
		if slot == 0 {
			return nil
		}
		if r := record(e.arena.data(blockOf(slot))); string(r.key()) == string(key) {
			return r
		}
		p.changed.add(hash)
	}
	slot, _ = e.search(e.index.segment(hash), hash, key)
	if slot == 0 {
		return nil
	}
	return record(e.arena.data(blockOf(slot)))
}

// search returns the slot of key in s and its number, or 0 and where it belongs.
func (e *Engine) search(s *segment, hash uint64, key []byte) (uint64, uint32) {
	slot, i := s.find(hash, home(hash))
	for slot != 0 && string(record(e.arena.data(blockOf(slot))).key()) != string(key) {
		slot, i = s.find(hash, i+1)
	}
	return slot, i
}
