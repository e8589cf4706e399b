package slab

import (
	"kvlab/kvs"
	"kvlab/kvs/engine/prefetch"
)

const (
	// window is how many operations are looked up between two looks at the
	// clock of epochs.
	window = 256

	// group is how many operations' slots, and then records, are fetched together:
	// about 24 lines, which is half as much again as a processor fetches at a time.
	group = 8

	// recordLines is how many lines of a record are fetched ahead. What follows
	// the processor fetches by itself, once it sees a copy.
	recordLines = 4
)

// windowOf returns how many operations are the next window: large values make it
// short, so that what they replace can be used again.
func windowOf(ops []kvs.Op) int {
	n, size := 0, 0
	for ; n < len(ops) && n < window && size < enoughBytes; n++ {
		size += len(ops[n].Value)
	}
	return n
}

// fetchSlots hashes the keys of the window's operations from i to end, and has
// their slots fetched.
func (e *Engine) fetchSlots(p *participant, ops []kvs.Op, i, end int) {
	d := e.index.table.Load()
	for ; i < end; i++ {
		hash := e.hash(e.seed, ops[i].Key)
		p.hashes[i] = hash
		prefetch.Add(&p.lines, d.segment(hash).slot(home(hash)))
	}
	p.lines.Fetch()
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

// execute executes the window's operations from i to end in order.
func (e *Engine) execute(p *participant, ops []kvs.Op, i, end int, reply *kvs.Reply) {
	for ; i < end; i++ {
		op := &ops[i]
		if op.Kind.Writes() {
			e.write(p, p.hashes[i], op, reply)
			p.changed.add(p.hashes[i])
			continue
		}
		if r := e.recordAt(p, i, op.Key); r != nil {
			reply.Found(r.value())
		} else {
			reply.Missing()
		}
	}
}

// changed is a set of hashes: those of the keys that a window's operations have
// found changed, or have changed themselves, since their slots were read. It may
// hold hashes that nobody has added, some 3 in 100 when half of a window are writes.
type changed [64]uint64

func (c *changed) add(hash uint64)      { c[hash>>6%64] |= 1 << (hash % 64) }
func (c *changed) has(hash uint64) bool { return c[hash>>6%64]>>(hash%64)&1 != 0 }

// recordAt returns the record of key, or nil, which operation i asks for. If it
// must look now, what was read ahead for those behind it is older than what it
// finds: they must look too, or a batch would see a value come back that it has
// seen replaced.
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
