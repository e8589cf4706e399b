package slab

import (
	"kvlab/kvs"
	"kvlab/kvs/engine/prefetch"
)

const (
	// window is how many operations are looked up between two looks at the
	// clock of epochs; their slots' lines fill a third of a first-level cache.
	window = 256

	// group is how many operations' records are fetched ahead: 48 lines.
	group = 16

	// recordLines is how many lines of a record are fetched ahead. What follows
	// the processor fetches by itself, once it sees a copy.
	recordLines = 4

	// stale stands for a slot that has changed since it was read.
	stale = ^uint64(0)
)

// fetchSlots hashes the keys of the next window and has their slots fetched. It
// returns the window's length: large values make it short, so that what they
// replace can be used again.
func (e *Engine) fetchSlots(p *participant, ops []kvs.Op) int {
	d := e.index.table.Load()
	n, size := 0, 0
	for ; n < len(ops) && n < window && size < enoughBytes; n++ {
		hash := e.hash(e.seed, ops[n].Key)
		p.hashes[n] = hash
		prefetch.Add(&p.lines, d.segment(hash).slot(home(hash)))
		size += len(ops[n].Value)
	}
	p.lines.Fetch()
	return n
}

// fetchRecords reads the slots of the window's operations from i to end, and has
// the records that they name fetched; for who writes, the segment's lock too.
func (e *Engine) fetchRecords(p *participant, ops []kvs.Op, i, end int) {
	d := e.index.table.Load()
	for ; i < end; i++ {
		hash := p.hashes[i]
		s := d.segment(hash)
		slot, _ := s.find(hash, home(hash))
		p.slots[i] = slot
		if ops[i].Kind.Writes() {
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

// execute executes the window's operations from i to mid in order. Slots have
// been read as far as end.
func (e *Engine) execute(p *participant, ops []kvs.Op, i, mid, end int, reply *kvs.Reply) {
	for ; i < mid; i++ {
		op := &ops[i]
		if op.Kind.Writes() {
			e.write(p, p.hashes[i], op, reply)
			p.forget(p.hashes[i], i+1, end)
			continue
		}
		if r := e.recordAt(p, i, end, op.Key); r != nil {
			reply.Found(r.value())
		} else {
			reply.Missing()
		}
	}
}

// forget marks the slots from i to end that a write to a key of this hash may
// have changed.
func (p *participant) forget(hash uint64, i, end int) {
	for ; i < end; i++ {
		if p.hashes[i] == hash {
			p.slots[i] = stale
		}
	}
}

// recordAt returns the record of key, or nil, which operation i asks for. If it
// must look now, what was read ahead for those behind it, as far as end, is older
// than what it finds: they must look too, or a batch would see a value come back
// that it has seen replaced.
func (e *Engine) recordAt(p *participant, i, end int, key []byte) record {
	slot, hash := p.slots[i], p.hashes[i]
	if slot == 0 {
		return nil
	}
	if slot != stale {
		if r := record(e.arena.data(blockOf(slot))); string(r.key()) == string(key) {
			return r
		}
	}
	p.forget(hash, i+1, end)
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
