// Package slab is an engine whose keys and values lie outside of the collector's
// heap, and whose operations overlap their cache misses.
//
//	arena    memory in regions, handed out in blocks of size classes
//	ahead    populates an arena's memory before it is needed
//	record   a key and its value in a block; immutable once readers can see it
//	segment  a hash table of a fixed size: slots that name records
//	index    leads from a hash to its segment; grows by splitting one at a time
//	epochs   when a block that was replaced may be used again
//
// A lookup in a large store takes four cache misses: the slot and, for a value
// of 128 bytes, three lines of the record. Apply works on three groups of operations
// at a time: it hashes the keys of one and prefetches their slots, reads the slots of
// the group before and prefetches its records, and executes the group before that.
// So the misses of a dozen operations overlap.
//
// Readers take no lock. Writers lock one segment while they exchange a slot. A Put
// writes a new record and retires the old one. A Delete retires the record and marks its
// slot, which the next new key whose search passes it takes; it empties the slot if no
// search needs to go on there.
package slab

import (
	"hash/maphash"
	"runtime"
	"sync/atomic"

	"kvlab/kvs"
)

// Engine keeps up to 1 TiB of keys and values. It is safe for concurrent use.
//
// A record takes 8 bytes and its key and value, rounded up to a multiple of 8
// bytes up to 256 and by at most 1/16 above; its slot takes 11 to 23 bytes. The
// memory of replaced and deleted records is used again by records of the same size class. It
// is returned to the system when the Engine is garbage. While a goroutine is
// descheduled inside an Apply, records replaced since then are not reused; a writer
// that has replaced 512 KiB of them waits.
//
// Growth stops one writer at a time, and no reader, for the split of a segment
// (about 0.2 ms). An Engine has 2 MiB from the start and populates 16 MiB ahead of
// use. A writer that is faster than the system waits for a huge page of 2 MiB
// (0.1 ms; 5 ms in a virtual machine whose host has yet to find the memory).
//
// When the system grants no more memory, Apply panics, with all locks released
// and every completed operation in place; service.Conn turns that into the call's
// error.
type Engine struct {
	hash   func(maphash.Seed, []byte) uint64
	seed   maphash.Seed
	arena  *arena
	epochs *epochs
	index  index
	_      [64]byte // keeps the fields above in other cache lines than length
	length atomic.Int64
}

// New returns an empty engine with segments for an expected number of records, 0
// when unknown. The error is the system's when it grants no memory.
func New(records uint64) (*Engine, error) {
	e := &Engine{hash: maphash.Bytes, seed: maphash.MakeSeed(), arena: newArena(), epochs: newEpochs()}
	if err := e.index.start(e.arena, bitsFor(records)); err != nil {
		return nil, err
	}
	runtime.AddCleanup(e, (*arena).close, e.arena)
	return e, nil
}

// Len returns the number of keys.
func (e *Engine) Len() int { return int(e.length.Load()) }

// Apply executes ops in order; see kvs.Engine.
func (e *Engine) Apply(ops []kvs.Op, reply *kvs.Reply) {
	p := e.epochs.enter(e.arena)
	defer e.leave(p)
	for len(ops) > 0 {
		p.quiesce()
		n := windowOf(ops)
		e.apply(p, ops[:n], reply)
		ops = ops[n:]
	}
}

// apply executes a window of operations, a group at a time, while the records of
// the next group and the slots of the one behind that are fetched.
func (e *Engine) apply(p *participant, ops []kvs.Op, reply *kvs.Reply) {
	p.changed = changed{}
	n := len(ops)
	e.fetchSlots(p, ops, 0, min(2*group, n))
	e.fetchRecords(p, ops, 0, min(group, n))
	for i := 0; i < n; i += group {
		next, behind := min(i+group, n), min(i+2*group, n)
		e.fetchSlots(p, ops, behind, min(i+3*group, n))
		e.fetchRecords(p, ops, next, behind)
		e.execute(p, ops, i, next, reply)
	}
}

func (e *Engine) leave(p *participant) {
	if p.added != 0 {
		e.length.Add(p.added)
		p.added = 0
	}
	p.leave()
	runtime.KeepAlive(e) // and with it the arena's memory
}
