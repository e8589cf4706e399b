package latency

import (
	"math"
	"slices"
	"sync"
	"time"

	"kvlab/metrics"
)

// Timing is one call as its worker timed it. An operation's time from the moment
// it was due to its reply is the sum of four: its wait for the call to be sent,
// and the call's Queue, Server, and what remains of Call: the wire.
type Timing struct {
	Phase  metrics.Phase // in which its reply came
	Ops    int           // operations that it carried
	Call   time.Duration // from its send to its reply
	Op     time.Duration // from the moment its operations were due to the reply; for Observe only
	Queue  time.Duration // from its send until it was written to the connection
	Server time.Duration // what the server says it took for it; 0: it says nothing, and Call is not split
	Late   time.Duration // how long after its first operation was due the generator woke up for it; 0: it did not sleep
}

// observation is one call in whole microseconds. 28 bytes, so that a worker that
// makes 100,000 calls a second fills 2.8 MB between two collections.
type observation struct {
	call, op, queue, server, late uint32
	ops                           uint32
	phase                         phaseIndex
	each                          bool // each of the ops has its own latency, and op is unused
}

// observations are calls, and the latencies of those operations that have their
// own, in the calls' order.
type observations struct {
	calls []observation
	ops   []uint32 // microseconds
}

// outOfRange stands for a latency that the histograms cannot hold.
const outOfRange = math.MaxUint32

// Recorder takes the latencies of one worker's calls. Latency makes it and
// collects from it.
//
// Observe and ObserveEach are for its one worker; it and the collector may run at
// the same time. They meet in a lock that is free but for the instant in which
// the collector swaps the buffers, once a second.
//
// Latencies are kept in whole microseconds, rounded up. Of Call and Op, those
// that are not above 0 or beyond MaxLatency are counted as out of range. Nothing
// is allocated once the buffers have grown to what comes between two collections.
type Recorder struct {
	mu  sync.Mutex
	buf observations // guarded by mu

	_ [96]byte // fills a pair of cache lines, so that the next worker's Recorder shares none
}

// Observe records one call whose operations were all due at once: t.Op counts
// for each of them.
func (r *Recorder) Observe(t Timing) {
	o := t.observation()
	r.mu.Lock()
	r.buf.calls = append(r.buf.calls, o)
	r.mu.Unlock()
}

// ObserveEach records one call that came at the moment came, of operations that
// were due at different moments; t.Ops and t.Op are ignored. due and came count
// from the same start.
func (r *Recorder) ObserveEach(t Timing, came time.Duration, due []time.Duration) {
	t.Ops = len(due)
	o := t.observation()
	o.each = true
	r.mu.Lock()
	r.buf.calls = append(r.buf.calls, o)
	for _, at := range due {
		r.buf.ops = append(r.buf.ops, micros(came-at))
	}
	r.mu.Unlock()
}

func (t Timing) observation() observation {
	o := observation{call: micros(t.Call), op: micros(t.Op), ops: uint32(t.Ops), phase: indexOf(t.Phase)}
	if t.Server > 0 {
		o.queue, o.server = micros(max(t.Queue, 1)), micros(t.Server)
	}
	if t.Late > 0 {
		o.late = micros(t.Late)
	}
	return o
}

// take hands over what was observed since the last take, and lets the worker go
// on in the storage of spare, which it then owns.
func (r *Recorder) take(spare observations) observations {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.buf
	r.buf = observations{spare.calls[:0], spare.ops[:0]}
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
var phaseOrder = [...]metrics.Phase{metrics.Idle, metrics.Load, metrics.WarmUp, metrics.Window, metrics.Drain, metrics.Done}

// indexOf takes a phase that is none of the constants for Idle: what it names is
// not the window.
func indexOf(p metrics.Phase) phaseIndex {
	return phaseIndex(max(0, slices.Index(phaseOrder[:], p)))
}
