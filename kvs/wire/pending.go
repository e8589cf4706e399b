package wire

import (
	"fmt"
	"sync/atomic"

	"kvlab/kvs"
)

// pending are a lane's calls under way, in order, numbered from 0. One goroutine
// adds calls and another drops them when they are answered; between two
// connections that one alone uses it.
type pending struct {
	calls          []underWay    // by number
	sent, answered atomic.Uint64 // calls
}

// underWay is one call. Its batch is its caller's, who waits.
type underWay struct {
	seq   uint64 // net/rpc's number of it
	batch *kvs.Batch
}

func newPending(window int) *pending { return &pending{calls: make([]underWay, window)} }

func (p *pending) at(number uint64) *underWay { return &p.calls[number%uint64(len(p.calls))] }

// add takes a call in and numbers it, unless more are under way than the server
// remembers answers to.
func (p *pending) add(seq uint64, batch *kvs.Batch) (number uint64, err error) {
	number = p.sent.Load()
	if number-p.answered.Load() == uint64(len(p.calls)) {
		return 0, fmt.Errorf("a call beside %d under way, the most of its lane: %w", len(p.calls), kvs.ErrUnsent)
	}
	*p.at(number) = underWay{seq, batch}
	p.sent.Store(number + 1)
	return number, nil
}

// oldest is the number of the call whose reply is due; false when there is none.
func (p *pending) oldest() (number uint64, ok bool) {
	number = p.answered.Load()
	return number, number < p.sent.Load()
}

// drop forgets the oldest call, and returns net/rpc's number of it.
func (p *pending) drop() (seq uint64) {
	number := p.answered.Load()
	call := p.at(number)
	call.batch = nil
	p.answered.Store(number + 1)
	return call.seq
}

// underWay is the number of the oldest call and how many there are. Nobody adds
// one meanwhile.
func (p *pending) underWay() (first uint64, calls int) {
	first = p.answered.Load()
	return first, int(p.sent.Load() - first)
}

// frames are all calls as they go over a line, copied: their callers may have
// them back before all are written.
func (p *pending) frames(line *line) (frames []byte, calls int) {
	first, calls := p.underWay()
	for number := first; number < first+uint64(calls); number++ {
		batch := p.at(number).batch
		frame := batch.Frame()
		// What was sent before has a size that can be sent.
		_ = line.seal(header{kind: requestFrame, seq: number, count: uint32(batch.Len())}, frame)
		frames = append(frames, frame...)
	}
	return frames, calls
}
