package metrics

import (
	"math"
	"sync"
	"time"
)

// observation is one call as its worker saw it. 16 bytes, so that a worker that
// makes 100,000 calls a second fills 1.6 MB between two collections.
type observation struct {
	callMicros uint32
	opMicros   uint32
	ops        uint32
	phase      phaseIndex
}

// outOfRange stands for a latency that the histograms cannot hold.
const outOfRange = math.MaxUint32

// Recorder takes the latencies of one worker's calls. Latency makes it and
// collects from it.
//
// Observe is for its one worker; it and the collector may run at the same time.
// They meet in a lock that is free but for the instant in which the collector
// swaps the buffers, once a second.
type Recorder struct {
	mu  sync.Mutex
	buf []observation // guarded by mu

	_ [96]byte // to a cache line pair of its own: another worker's Recorder is next
}

// Observe records one call that carried ops operations and came home in the
// given phase. call is from the call's send to its reply; op is from the moment
// the operations were due to the reply, and counts once for each of them.
//
// Latencies are kept in whole microseconds, rounded up. Those that are not
// above 0 or beyond MaxLatency are counted as out of range. Observe does not
// allocate once its buffer has grown to the number of calls between two
// collections.
func (r *Recorder) Observe(phase Phase, call, op time.Duration, ops int) {
	o := observation{micros(call), micros(op), uint32(ops), phase.index()}
	r.mu.Lock()
	r.buf = append(r.buf, o)
	r.mu.Unlock()
}

// take hands over what was observed since the last take, and lets the worker go
// on in the storage of spare, which it then owns.
func (r *Recorder) take(spare []observation) []observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.buf
	r.buf = spare[:0]
	return taken
}

func micros(d time.Duration) uint32 {
	if d <= 0 || d > MaxLatency {
		return outOfRange
	}
	return uint32((d + time.Microsecond - 1) / time.Microsecond)
}

// phaseIndex is a phase's place in the order of a trial: smaller than its name,
// and without a pointer for the garbage collector to follow.
type phaseIndex uint8

// phaseOrder is never written to.
var phaseOrder = [...]Phase{Idle, Load, WarmUp, Window, Drain, Done}

// index takes a phase that is none of the constants for Idle: what it names is
// not the window.
func (p Phase) index() phaseIndex {
	for i, phase := range phaseOrder {
		if p == phase {
			return phaseIndex(i)
		}
	}
	return 0
}
