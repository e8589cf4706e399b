package loadgen

import (
	"cmp"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"kvlab/kvs"
	"kvlab/kvs/history"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
)

// round is one pass of a worker over all servers: a batch for each, the data to check
// the replies with, and the replies.
type round struct {
	begun     moment        // when its first operation was due
	phase     metrics.Phase // the phase of begun; finish sets it and window
	window    *span         // the window if begun is in it; else nil
	came      moment        // when its last reply so far came
	inFlight  bool          // sent and not finished
	last      uint32        // the version of its last write, or else of the worker's last write before it
	latency   time.Duration // of its slowest call so far
	late      time.Duration // open loop: from its first operation's due time until the worker woke up; 0 if it was awake
	from      moment        // open loop: the origin of the times in due
	exchanges []exchange
	scans     []scan
}

// exchange is a round's part with one server.
type exchange struct {
	server  int
	call    kvs.Call
	batch   kvs.Batch
	reply   kvs.Reply
	found   []workload.Found // what reads of the keys find, likewise; only in a replay
	hashes  []uint64         // the keys' hashes, in the batch's order
	kinds   []kvs.Kind       // the operations' kinds, likewise
	due     []time.Duration  // open loop: the operations' due times, likewise; empty in a closed loop, where all are due at begun
	sent    moment
	handed  moment          // stamped after sent; see stamped
	came    moment          // when its reply came
	served  time.Duration   // the server's own time
	queued  time.Duration   // from the due time until the write
	record  history.Pending // for -linearizable
	took    []time.Duration // with -txn: minus the operations' latencies, likewise
	written []auditedWrite  // the writes of keys that may be audited, in the batch's order

	values int // bytes of the values that the first sized operations read; only for -batch-bytes
	sized  int

	spot   uint32 // number of the audited key that operation spotAt reads
	spotAt int    // -1: none

	parts int      // ScanParts in the batch: another exchange counts their operations
	scans []scan   // the scans of the round
	ids   []uint64 // ids that the scans found, scan after scan
	ends  []int    // where each scan's part of ids ends

	// Only worker.add uses the following fields: the operations that it is adding.
	newSuffixes [drawn]kvs.KeySuffix
	newHashes   []uint64   // the end of hashes
	newKinds    []kvs.Kind // the end of kinds
	added       int        // how many there are
}

// ops returns the number of operations of the workload.
func (x *exchange) ops() int {
	ops := x.batch.Len() - x.parts
	if x.spotAt >= 0 {
		ops--
	}
	return ops
}

// extend makes room for n new operations.
func (x *exchange) extend(n int) {
	at := len(x.hashes)
	x.hashes = slices.Grow(x.hashes, n)[:at+n]
	x.kinds = slices.Grow(x.kinds, n)[:at+n]
	x.newHashes, x.newKinds = x.hashes[at:], x.kinds[at:]
}

func newRound(servers int) round {
	r := round{exchanges: make([]exchange, servers)}
	for i := range r.exchanges {
		x := &r.exchanges[i]
		x.call.Batch, x.call.Reply = &x.batch, &x.reply
		x.server, x.record.Server, x.spotAt = i, i, -1
	}
	return r
}

func (r *round) begin() {
	r.begun = now()
	r.latency, r.late = 0, 0
}

// isEmpty reports whether the round has no operations.
func (r *round) isEmpty() bool {
	return !slices.ContainsFunc(r.exchanges, func(x exchange) bool { return x.batch.Len() > 0 })
}

// empty empties the batches for new operations.
func (r *round) empty() {
	r.scans = r.scans[:0]
	for i := range r.exchanges {
		x := &r.exchanges[i]
		x.batch.Reset()
		x.hashes = x.hashes[:0]
		x.kinds, x.found = x.kinds[:0], x.found[:0]
		x.due, x.took = x.due[:0], x.took[:0]
		x.written = x.written[:0]
		x.parts, x.spotAt = 0, -1
	}
}

// send sends every batch that is not empty.
func (w *worker) send(r *round) {
	at := now()
	if w.history != nil {
		w.history.BeginRound(r.last, started.Add(at))
	}
	for i := range r.exchanges {
		if x := &r.exchanges[i]; x.batch.Len() > 0 {
			x.sent = at
			if w.history != nil {
				w.history.Sending(&x.record, &x.batch, x.hashes, x.kinds, started.Add(at))
			}
			x.handed = now()
			w.conns[i].Send(&x.call)
			at = now()
			x.queued = at - x.sent
		}
	}
	r.inFlight = true
}

// finish waits for a sent round's replies, checks and counts them. at returns the phase
// of a moment.
func (w *worker) finish(r *round, at phaseAt) error {
	var first error
	calls, ops := uint64(0), uint64(0)
	r.phase, r.window = at(r.begun)
	for i := range r.exchanges {
		x := &r.exchanges[i]
		if x.batch.Len() == 0 {
			continue
		}
		err := w.conns[i].Wait(&x.call)
		woken := now()
		if w.history != nil {
			w.history.Completed(&x.record, &x.reply, err)
		}
		if err != nil && first == nil {
			if err = w.recordUnknown(r, x, err); err == nil {
				calls, ops = calls+1, ops+uint64(x.ops())
				continue
			}
		}
		if err == nil && first == nil {
			r.arrived(x)
			w.stamped(x, woken)
			if len(r.scans) == 0 {
				err = w.take(i, r, at)
			}
			calls, ops = calls+1, ops+uint64(x.ops())
		}
		if err != nil && first == nil {
			first = &CallError{w.servers[i].Name, x.batch.Len(), err, i}
		}
	}
	ends := r.came
	if len(r.scans) > 0 && first == nil {
		first = w.takeScans(r, at)
		ends = now()
	}
	r.inFlight = false
	w.total(r, calls, ops, ends, at)
	return first
}

// total adds a finished round to the worker's sums.
func (w *worker) total(r *round, calls, ops uint64, ends moment, at phaseAt) {
	w.pace.add(r, ends)
	w.sums.MostOps = max(w.sums.MostOps, ops)
	window := r.window
	if window != nil {
		w.sums.Rounds++
		w.sums.Calls += calls
	} else if came, closing := at(r.came); closing != nil {
		window = closing
		w.sums.Early += ops
	} else if r.phase != came {
		w.sums.Across++
		w.sums.AcrossS = max(w.sums.AcrossS, (ends - r.begun).Seconds())
	}
	if window != nil {
		_, window = at(window.opens) // its end may be decided by now
		busy := window.overlap(r.begun, ends).Seconds()
		if w.sums.BusyS += busy; r.window == nil {
			w.sums.EarlyS += busy
		}
	}
}

// arrived records when an exchange's reply came.
func (r *round) arrived(x *exchange) {
	x.came, x.served = now(), x.reply.Served
	r.came = x.came
}

// take checks the reply of server i and counts it.
func (w *worker) take(i int, r *round, at phaseAt) error {
	var checked replyCheck
	err := w.check(&r.exchanges[i], w.servers[i].NoStore, &checked)
	if err == nil {
		w.count(i, r, &checked, at)
	}
	return err
}

// count counts the operations of server i's reply, which were answered at r.came.
func (w *worker) count(i int, r *round, checked *replyCheck, at phaseAt) {
	x := &r.exchanges[i]
	w.remember(x, x.came)
	w.inserted += checked.Inserts
	r.latency = max(r.latency, x.came-x.sent)
	_, window := at(r.came)
	w.witness(r, x, at)
	w.observe(r, x, &latency.Timing{Peer: i, Ops: checked.ByKind(), Inside: window != nil,
		Call: x.came - x.sent, Queue: x.queued, Server: x.served, Late: r.late}, at)
	r.late = 0 // counts once per round
	w.tallied(i, r, checked, window)
}

// tallied adds the operations of server i's reply, which came in a window or none, to the
// worker's counts.
func (w *worker) tallied(i int, r *round, checked *replyCheck, window *span) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.exchanges[i].spotAt >= 0 {
		w.countSpot(i, r, checked)
	}
	w.counts[i].Accumulate(&checked.Counts)
	w.bytes = w.bytes.Add(checked.Bytes)
	if window != nil {
		w.window[i].Accumulate(&checked.Counts)
		w.carried = w.carried.Add(checked.Bytes)
		if slot, ok := window.boundary(r.came); ok {
			w.boundaries[slot] += checked.Ops()
		}
	}
	w.verify.Add(checked.Verification)
}

// observe records the latencies of an exchange whose reply came at r.came. An operation
// belongs to the phase in which it was due, and a call to the phase of its last operation.
func (w *worker) observe(r *round, x *exchange, t *latency.Timing, at phaseAt) {
	if len(x.due) == 0 {
		t.Phase, t.Op = r.phase, r.came-r.begun
		w.recorder.Observe(t)
		return
	}
	due, kinds, came := x.due, x.kinds, r.came-r.from
	phase, window := at(r.from + due[len(due)-1])
	if t.Phase = phase; window != nil {
		early := len(due) - int(after(due, window.opens-r.from))
		if due, kinds = due[early:], kinds[early:]; early > 0 {
			before := &latency.Timing{Phase: metrics.WarmUp, Peer: t.Peer, Inside: t.Inside}
			for i, kind := range x.kinds[:early] {
				if i != x.spotAt {
					before.Ops[kind]++
					t.Ops[kind]--
				}
			}
			w.recorder.Count(before)
		}
	}
	if x.parts > 0 || x.spotAt >= 0 {
		due, kinds = x.withoutOthers(due, kinds)
	}
	if t.Inside && window != nil {
		w.tally.Done(r.came-window.opens, len(due))
	}
	if len(x.took) > 0 {
		came, due = 0, x.took[len(x.took)-len(due):]
	}
	w.recorder.ObserveEach(t, came, due, unsafe.Slice((*uint8)(unsafe.SliceData(kinds)), len(kinds))) // a Kind is a uint8
}

// replyCheck is the result of checking one reply. Only verified operations count.
type replyCheck struct {
	metrics.Counts
	metrics.Bytes
	metrics.Verification
	absent uint64         // keys that a Delete did not find
	spot   metrics.Counts // the spot's counts; Counts has only its call
}

// returnsValue holds the kinds whose result is a value or a miss. checkOther handles the
// exceptions.
var returnsValue = [1 << 8]bool{kvs.Get: true, kvs.ReadModifyWrite: true}

// check compares a reply with its batch, and sets t. An error means that the reply does
// not belong to this batch. A null server has no store: its value is right for every key.
func (w *worker) check(x *exchange, null bool, t *replyCheck) error {
	t.Calls = 1
	t.Sent, t.Received = uint64(cmp.Or(x.call.Sent, x.batch.Size())), uint64(cmp.Or(x.call.Received, x.reply.Size()))
	if w.repeats {
		t.Unchecked = uint64(x.ops())
		t.Gets, t.Hits = t.Unchecked, t.Unchecked
		x.reply.Free()
		return nil
	}
	var verified [kvs.Kinds]uint64
	first, n := w.examined(x, null)
	t.Examined = uint64(n)
	results := x.reply.Results()
	for i, kind := range x.kinds {
		result, err := results.Next()
		if err != nil {
			return err
		}
		if i == x.spotAt {
			if err := w.checkSpot(x, result, t); err != nil {
				return err
			}
			continue
		}
		if w.replays && w.unexpected(x, i, result, null, t) {
			continue
		}
		if result.Read != returnsValue[kind] {
			if err := w.checkOther(x, i, result, null, t); err != nil {
				return err
			}
			verified[kind]++
			continue
		}
		switch {
		case result.Found && w.checker.Every == VerifyNone:
			t.Unchecked++
			t.Hits++
		case result.Found:
			hash := x.hashes[i]
			if null {
				hash = value.HashIn(result.Value)
				t.AnyKey++
			}
			compared, err := w.checker.Check(result.Value, hash)
			t.Checked++
			if compared {
				t.Compared++
			}
			if uint(i-first) < n && err == nil {
				w.examine(x, hash, result.Value, t)
			}
			if err != nil {
				t.Failures++
				t.First = cmp.Or(t.First, fmt.Sprintf("worker %d: %s: %v", w.id, kind, err))
				continue
			}
			t.Hits++
		case result.Read && x.came < w.noMiss && !null:
			t.Failures++
			t.First = cmp.Or(t.First, fmt.Sprintf("worker %d: %s: a key is missing, and none can have lived for its -ttl", w.id, kind))
			continue
		case result.Read:
			t.Misses++
		}
		verified[kind]++
	}
	t.Counts = metrics.CountsOf(verified, t.Hits+verified[kvs.Delete]-t.absent, t.Misses+t.absent, t.Calls)
	err := results.End()
	x.reply.Free()
	return err
}
