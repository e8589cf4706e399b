package latency

import (
	"math"
	"slices"
	"sync"
	"time"

	"kvlab/metrics"
)

// Timing is one call as its worker timed it. The time of an operation from the moment it
// was due to its reply has four parts: the wait until the call was sent, Queue, Server,
// and the rest of Call, the wire.
type Timing struct {
	Phase  metrics.Phase // in which its operations were due
	Peer   int           // number of the server that it went to
	Ops    Kinds         // operations that it carried
	Inside bool          // its reply came in the window
	Call   time.Duration // from its send to its reply
	Op     time.Duration // from the moment its operations were due to the reply; for Observe only
	Queue  time.Duration // from its send until it was written to the connection
	Server time.Duration // the server's own time; 0: unknown, and Call is not split
	Late   time.Duration // from the moment its first operation was due until the generator woke up; 0: it did not sleep
}

// Kinds are numbers of operations of each kind, in the order of metrics.KindNames.
type Kinds = [len(metrics.KindNames)]uint64

// observation holds the operations of one kind of a call and, with the first kind, the call
// itself, in whole microseconds. It has 36 bytes: a worker with 100,000 calls of one
// operation a second fills 3.6 MB between two collections.
type observation struct {
	call                uint32 // 0: the observation before is of the same call, or no observation times it
	op                  uint32 // 0: each operation has its own latency, or none has one
	queue, server, late uint32
	ops                 uint32 // of the kind
	each                uint32 // how many operations of the call have their own latency
	peer                uint16
	phase               phaseIndex
	kind                uint8
	inside              bool
}

// observations holds calls and, in the same order, the latencies of operations that were due
// at different moments.
type observations struct {
	calls []observation
	ops   []uint32 // microseconds
	kinds []uint8  // of ops
}

// outOfRange stands for a latency that the histograms cannot hold.
const outOfRange = math.MaxUint32

// Recorder holds the latencies of one worker's calls until a Collector takes them.
//
// The worker calls Observe and ObserveEach while the collector runs. Both take a lock.
// The collector holds it once a second, while it swaps the buffers.
//
// Latencies are in whole microseconds, rounded up. A latency of 0 or less, or above
// MaxLatency, counts as out of range. Recorder allocates nothing once its buffers hold
// the calls between two collections.
type Recorder struct {
	mu  sync.Mutex
	buf observations // guarded by mu

	_ [96]byte // fills a pair of cache lines, so that the next worker's Recorder shares none
}

// Observe records one call whose operations were all due at once: t.Op counts
// for each of them.
func (r *Recorder) Observe(t *Timing) {
	o := t.observation()
	o.op = micros(t.Op)
	r.mu.Lock()
	r.buf.add(o, &t.Ops)
	r.mu.Unlock()
}

// ObserveEach records one call that came at the moment came, of operations that
// were due at different moments; t.Op is ignored. due and came count from the same
// start. kinds has the kind of each operation, below metrics.OpKinds.
func (r *Recorder) ObserveEach(t *Timing, came time.Duration, due []time.Duration, kinds []uint8) {
	o := t.observation()
	o.each = uint32(len(due))
	r.mu.Lock()
	r.buf.add(o, &t.Ops)
	for _, at := range due {
		r.buf.ops = append(r.buf.ops, micros(came-at))
	}
	r.buf.kinds = append(r.buf.kinds, kinds...)
	r.mu.Unlock()
}

// Count records operations without a latency, of a call that another observation times: if a
// call spans the window's opening, its operations that were due before. It uses only Phase,
// Peer, Ops and Inside of t.
func (r *Recorder) Count(t *Timing) {
	o := observation{peer: uint16(t.Peer), phase: indexOf(t.Phase), inside: t.Inside}
	r.mu.Lock()
	r.buf.add(o, &t.Ops)
	r.mu.Unlock()
}

// add adds an observation for each kind that has operations, and one for a call without
// operations.
func (b *observations) add(o observation, ops *Kinds) {
	for kind, n := range ops {
		if n > 0 {
			o.kind, o.ops = uint8(kind), uint32(n)
			b.calls = append(b.calls, o)
			o.call, o.each = 0, 0
		}
	}
	if o.call != 0 {
		b.calls = append(b.calls, o)
	}
}

func (t *Timing) observation() observation {
	o := observation{call: micros(t.Call), peer: uint16(t.Peer), phase: indexOf(t.Phase), inside: t.Inside}
	if t.Server > 0 {
		o.queue, o.server = micros(max(t.Queue, 1)), micros(t.Server)
	}
	if t.Late > 0 {
		o.late = micros(t.Late)
	}
	return o
}

// take returns the observations since the last take. The recorder keeps the storage of
// spare for the next ones.
func (r *Recorder) take(spare observations) observations {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.buf
	r.buf = observations{spare.calls[:0], spare.ops[:0], spare.kinds[:0]}
	return taken
}

func micros(d time.Duration) uint32 {
	if d <= 0 || d > MaxLatency {
		return outOfRange
	}
	return uint32((d + time.Microsecond - 1) / time.Microsecond)
}

// phaseIndex is a phase's place in the order of a trial. It is smaller than the phase's name,
// and has no pointer for the garbage collector to follow.
type phaseIndex uint8

// phaseOrder is never written to.
var phaseOrder = [...]metrics.Phase{metrics.Idle, metrics.Load, metrics.WarmUp, metrics.Window, metrics.Drain, metrics.Done}

var inWindow = phaseIndex(slices.Index(phaseOrder[:], metrics.Window))

// indexOf returns a phase's index; the index of Idle for an unknown phase.
func indexOf(p metrics.Phase) phaseIndex {
	if p == metrics.Window { // the phase of most calls
		return inWindow
	}
	return phaseIndex(max(0, slices.Index(phaseOrder[:], p)))
}
