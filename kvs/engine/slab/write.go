package slab

import (
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/kvs/engine/prefetch"
)

// write executes an operation of another kind than Get.
func (e *Engine) write(p *participant, hash uint64, op *kvs.Op, reply *kvs.Reply) {
	b := deleted
	if op.Kind != kvs.Delete {
		b = p.alloc(recordHeader + len(op.Key) + len(op.Value))
		record(e.arena.data(b)).fill(op.Key, op.Value)
	}
	old := e.store(p, hash, op.Key, b)
	if b != deleted {
		p.added++
	}
	var before record // retired or not, it does not change until p leaves
	var value []byte
	if old != 0 {
		before = record(e.arena.data(old))
		value = before.value()
		p.retire(old)
		p.added--
	}
	if !reply.Versioned() {
		reply.Answer(op.Kind, value, old != 0)
		return
	}
	is := record(e.arena.data(b)).version()
	if old == 0 {
		reply.AnswerVersion(op.Kind, nil, nil, false, 0, is)
	} else {
		reply.AnswerVersion(op.Kind, before.key(), value, true, before.version(), is)
	}
}

// store puts the record in b into the index, or removes the key if b is deleted. It
// returns the block of the key's record before, or 0.
func (e *Engine) store(p *participant, hash uint64, key []byte, b block) block {
	for {
		s := e.index.segment(hash)
		if old, ok := e.exchange(s, hash, key, b); ok {
			return old
		}
		if e.index.segment(hash) == s { // no other writer has split it
			e.split(p, hash, s)
		}
	}
}

// exchange returns store in one segment. It reports false if that is dead, or full
// and the key new.
func (e *Engine) exchange(s *segment, hash uint64, key []byte, b block) (old block, ok bool) {
	s.mu.Lock() // unlocked by hand: a deferred call is not inlined
	if s.dead {
		s.mu.Unlock()
		return 0, false
	}
	slot, i := e.search(s, hash, key)
	if b == deleted {
		if slot != 0 {
			s.remove(i)
		}
		s.mu.Unlock()
		return blockOf(slot), true
	}
	if slot == 0 && s.deleted > 0 {
		i = s.vacant(hash, i)
	}
	switch {
	case slot != 0:
	case *s.slot(i) != 0: // a deleted key's
		s.deleted--
	case s.count == segmentFull:
		s.mu.Unlock()
		return 0, false
	default:
		s.count++
	}
	record(e.arena.data(b)).stamp(s.version.Next())
	atomic.StoreUint64(s.slot(i), slotOf(hash, b))
	s.mu.Unlock()
	return blockOf(slot), true
}

// split replaces s, the segment of hash, by two, unless another writer has.
func (e *Engine) split(p *participant, hash uint64, s *segment) {
	low := newSegment(e.arena, p.alloc(segmentSize), s.depth+1)
	high := newSegment(e.arena, p.alloc(segmentSize), s.depth+1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead {
		p.release(low.self)
		p.release(high.self)
		return
	}
	// A key's later versions are greater.
	low.version, high.version = s.version, s.version
	const together = 16 // slots
	for i := 0; i < segmentSlots && s.count > 0; i += together {
		e.distribute(p, s.slots[i:min(i+together, segmentSlots)], low, high)
	}
	s.dead = true
	e.index.replace(hash, low, high)
	p.retire(s.self)
}

// distribute adds slots of a segment to the two that replace it, by the next bit of
// their keys' hashes.
func (e *Engine) distribute(p *participant, slots []uint64, low, high *segment) {
	for _, slot := range slots {
		if slot != 0 {
			prefetch.Add(&p.lines, &e.arena.data(blockOf(slot))[0])
		}
	}
	p.lines.Fetch()
	for _, slot := range slots {
		if slot == 0 || blockOf(slot) == deleted {
			continue
		}
		hash := e.hash(e.seed, record(e.arena.data(blockOf(slot))).key())
		if hash<<(low.depth-1)>>63 == 0 {
			low.add(hash, slot)
		} else {
			high.add(hash, slot)
		}
	}
}
