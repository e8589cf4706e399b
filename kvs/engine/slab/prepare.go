package slab

import "fmt"

// prepareMost is how many bytes Prepare has cleared: for a greater store the
// rest is cleared as it fills, at the same speed, and what a wrong forecast
// wastes is bounded.
const prepareMost = 256 << 20

// preparedBits bounds the segments that Prepare makes: 65,536, which are 2 GiB and
// hold 190 million records. Further ones come by splitting.
const preparedBits = 16

// preparedFull is the most records that a segment is expected to get: segmentFull is
// 3.6 standard deviations of their number more, so that 2 segments in 10,000 are
// split all the same.
const preparedFull = segmentFull * 15 / 16

// Prepare makes room for so many records of size bytes of key and value each, as
// far as that takes at most most bytes: they will find their index at its size
// and their memory, or the first 256 MiB of it, cleared. Records that are there
// already count among them. It returns when that is done, and for how many records
// there is room; others may use the engine meanwhile. To prepare again for as many
// or fewer does nothing.
//
// Memory that is not used within some 10 s after the last growth goes back to the
// system, but for the index: 11 to 23 bytes for each record that was promised.
//
// An error means that the system grants no more memory; the engine is as good as
// before.
func (e *Engine) Prepare(records uint64, size int, most uint64) (room uint64, err error) {
	e.preparing.Lock()
	defer e.preparing.Unlock()
	each := uint64(wordsOf(classOf(recordHeader+size)) * 8)
	records = min(records, most/(each+segmentSize/(preparedFull/2)))
	if records <= e.prepared {
		return e.prepared, nil
	}
	e.prepared = records
	bits := uint(startBits)
	for bits < preparedBits && records>>bits > preparedFull {
		bits++
	}
	e.arena.ahead.reach(min(prepareMost, records*each+segmentSize<<bits))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("prepare for %d records: %v", records, p)
		}
	}()
	e.deepen(bits)
	return records, nil
}

// deepen splits segments until all share at least so many bits.
func (e *Engine) deepen(bits uint) {
	p := e.epochs.enter(e.arena)
	defer e.leave(p)
	for i := range uint64(1) << bits {
		hash := i << (64 - bits)
		for s := e.index.segment(hash); uint(s.depth) < bits; s = e.index.segment(hash) {
			p.quiesce()
			e.split(p, hash, s)
		}
	}
}
