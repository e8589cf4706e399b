package labserver

import (
	"math/bits"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

const (
	distinct = 1 << 20 // keys below are counted once each
	masked   = 64      // the most popular keys, by which calls in flight are compared

	// Every which call the GETs of rare keys are kept, and how many. No pattern of calls in
	// turn has 17.
	coldEvery, mostCold = 17, 4096
)

// count is what a connection's calls were. Only the goroutine that executes them uses it.
type count struct {
	answered atomic.Uint64 // requests, or about to be

	first, last       int64 // arrivals, in nanoseconds since 1970
	gets, puts, hits  uint64
	calls             uint64
	slots             stats.Slots
	sizes             [33]metrics.Size // by bits of the number of operations
	hotGets, hotPuts  [metrics.HotKeys]uint64
	octaves           [64]uint64
	highest, strange  uint64
	stranger          string
	inFlight, present uint64 // at most; added up over calls
	inFlightAll       uint64
	overtakable       uint64
	lone, flushed     uint64
	unanswered, lost  uint64 // calls, and their operations
	left              uint64
	repeats           uint64
	coldGets, both    uint64

	before struct { // the call before
		gets, puts uint64 // of the masked keys
		beside     bool   // another call arrived before it was answered
		reads      bool   // it has GETs alone
	}
	cold map[uint64]bool // keys of GETs of the last call of coldEvery; whether a PUT has been seen
	ops  [queue]int      // operations of the last calls, a ring
}

// number returns the number that a key is in decimal.
func number(key []byte) (n uint64, ok bool) {
	if len(key) > 18 || len(key) == 0 || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	for _, c := range key {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return n, true
}

// call counts a request that was executed, and of which the reply is about to be sent. begun
// requests have arrived, wholly or in part.
func (c *count) call(s *Server, r *request, begun uint64) {
	here := begun - c.answered.Load()
	c.inFlightAll = max(c.inFlightAll, uint64(s.present.Add(-1)+1))
	c.answered.Add(1)
	if len(r.Ops) == 0 {
		return
	}
	at := r.at.UnixNano()
	if c.calls == 0 {
		c.first = at
	}
	c.last = at
	c.calls++
	c.ops[c.calls%queue] = len(r.Ops)
	c.present += here
	c.inFlight = max(c.inFlight, here)
	c.slots.Add(at, uint64(len(r.Ops)))
	c.size(len(r.Ops))
	gets, puts, n, digest := uint64(0), uint64(0), 0, uint64(len(r.Ops))
	for i := range r.Ops {
		op := &r.Ops[i]
		put := op.Kind == kvs.Put
		if put {
			n++
		}
		key, ok := number(op.Key)
		if !ok {
			c.odd(op.Key)
			key = distinct + uint64(len(op.Key))
		} else {
			c.key(s, key, put)
		}
		if key < masked && put {
			puts |= 1 << key
		} else if key < masked {
			gets |= 1 << key
		}
		digest = (digest ^ (key<<1 + uint64(op.Kind))) * 0x9e3779b97f4a7c15 // 2^64 by the golden ratio, as in Fibonacci hashing
		digest ^= digest >> 32
	}
	c.puts += uint64(n)
	c.gets += uint64(len(r.Ops) - n)
	if len(r.Ops) >= metrics.RepeatOps && s.recent[digest%uint64(len(s.recent))].Swap(digest) == digest {
		c.repeats++
	}
	c.flush(r.Ops, n)
	c.rare(r.Ops)
	if b := &c.before; b.beside && (puts&(b.gets|b.puts)|gets&b.puts) != 0 {
		c.overtakable++
	}
	c.before.gets, c.before.puts, c.before.beside, c.before.reads = gets, puts, here > 1, n == 0
}

// key counts an operation on a key.
func (c *count) key(s *Server, key uint64, put bool) {
	switch {
	case key >= metrics.HotKeys:
		c.octaves[bits.Len64(key)-bits.Len64(metrics.HotKeys)]++
	case put:
		c.hotPuts[key]++
	default:
		c.hotGets[key]++
	}
	c.highest = max(c.highest, key)
	if key < distinct {
		if word, bit := &s.seen[key/64], uint64(1)<<(key%64); word.Load()&bit == 0 {
			word.Or(bit)
		}
	}
}

// odd counts an operation on a key that is no number.
func (c *count) odd(key []byte) {
	if c.strange++; c.strange == 1 {
		c.stranger = string(key)
	}
}

// size counts a call of n operations.
func (c *count) size(n int) {
	size := &c.sizes[bits.Len(uint(n))]
	if size.Calls == 0 || n < size.Least {
		size.Least = n
	}
	switch size.Calls++; {
	case n > size.Most:
		size.Most, size.AtMost = n, 1
	case n == size.Most:
		size.AtMost++
	}
}

// flush counts a call whose end a PUT may have caused.
func (c *count) flush(ops []kvs.Op, puts int) {
	switch last := ops[len(ops)-1].Kind == kvs.Put; {
	case puts == 1 && len(ops) == 1:
		c.lone++
		if c.before.reads {
			c.flushed++
		}
	case puts == 1 && last:
		c.flushed++
	}
}

// rare counts, in one call of coldEvery and the next, the GETs of rare keys that are PUT too.
func (c *count) rare(ops []kvs.Op) {
	if c.calls%coldEvery == 0 {
		c.cold = map[uint64]bool{}
		for i := range ops {
			if key, ok := number(ops[i].Key); ok && ops[i].Kind == kvs.Get && key >= metrics.ColdKey && len(c.cold) < mostCold {
				c.cold[key] = false
			}
		}
		c.coldGets += uint64(len(c.cold))
	}
	if c.cold == nil {
		return
	}
	for i := range ops {
		if ops[i].Kind != kvs.Put {
			continue
		}
		if key, ok := number(ops[i].Key); ok {
			if put, kept := c.cold[key]; kept && !put {
				c.cold[key] = true
				c.both++
			}
		}
	}
	if c.calls%coldEvery == 1 {
		c.cold = nil
	}
}

// end counts a connection that its client closed before it had the replies to some calls.
func (c *count) end(calls uint64) {
	c.left, c.unanswered = 1, max(1, min(calls, c.calls, queue))
	for i := range c.unanswered {
		c.lost += uint64(c.ops[(c.calls-i)%queue])
	}
}
