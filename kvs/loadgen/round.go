package loadgen

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/history"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// round is one pass of a worker over all servers: a batch for each, the data to check
// the replies with, and the replies.
type round struct {
	begun     time.Time     // when its first operation was due
	underway  bool          // sent and not finished
	latency   time.Duration // of its slowest call so far
	late      time.Duration // open loop: from its first operation's due time until the worker woke up; 0 if it was awake
	from      time.Time     // open loop: the origin of the times in due
	exchanges []exchange
}

// exchange is a round's part with one server.
type exchange struct {
	call    kvs.Call
	batch   kvs.Batch
	reply   kvs.Reply
	hashes  []uint64        // the keys' hashes, in the batch's order
	kinds   []kvs.Kind      // the operations' kinds, likewise
	due     []time.Duration // open loop: the operations' due times, likewise; empty in a closed loop, where all are due at begun
	sent    time.Time
	queued  time.Duration   // from the due time until the write
	record  history.Pending // for -linearizable
	written []auditedWrite  // the writes of audited keys, in the batch's order

	// Only worker.add uses the following fields: the operations that it is adding.
	newSuffixes [drawn]kvs.KeySuffix
	newHashes   []uint64   // the end of hashes
	newKinds    []kvs.Kind // the end of kinds
	added       int        // how many there are
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
	}
	return r
}

func (r *round) begin() {
	r.begun = time.Now()
	r.latency, r.late = 0, 0
}

// empty empties the batches for new operations.
func (r *round) empty() {
	for i := range r.exchanges {
		x := &r.exchanges[i]
		x.batch.Reset()
		x.hashes = x.hashes[:0]
		x.kinds = x.kinds[:0]
		x.due = x.due[:0]
		x.written = x.written[:0]
	}
}

// send sends every batch that is not empty.
func (w *worker) send(r *round) {
	now := time.Now()
	if w.history != nil {
		w.history.BeginRound(uint32(w.writer), now)
	}
	for i := range r.exchanges {
		if x := &r.exchanges[i]; x.batch.Len() > 0 {
			x.sent = now
			if w.history != nil {
				w.history.Sending(&x.record, &x.batch, x.hashes, x.kinds, now)
			}
			w.conns[i].Send(&x.call)
			now = time.Now()
			x.queued = now.Sub(x.sent)
		}
	}
	r.underway = true
}

// finish waits for a sent round's replies, checks and counts them. at returns the phase
// of a reply from its arrival time.
func (w *worker) finish(r *round, at phaseAt) error {
	var first error
	for i := range r.exchanges {
		x := &r.exchanges[i]
		if x.batch.Len() == 0 {
			continue
		}
		err := w.conns[i].Wait(&x.call)
		if w.history != nil {
			w.history.Completed(&x.record, &x.reply, err)
		}
		if err == nil && first == nil {
			err = w.take(i, r, at)
		}
		if err != nil && first == nil {
			first = &CallError{w.servers[i].Name, x.batch.Len(), err, i}
		}
	}
	r.underway = false
	return first
}

// take checks the reply of server i and counts it.
func (w *worker) take(i int, r *round, at phaseAt) error {
	x := &r.exchanges[i]
	came, served := time.Now(), x.reply.Served
	checked, err := w.check(x, w.servers[i].NoStore)
	if err != nil {
		return err
	}
	w.remember(x, came)
	r.latency = max(r.latency, came.Sub(x.sent))
	phase, window := at(came)
	t := latency.Timing{Phase: phase, Ops: x.batch.Len(), Call: came.Sub(x.sent), Queue: x.queued, Server: served, Late: r.late}
	r.late = 0 // counts once per round
	if len(x.due) > 0 {
		w.recorder.ObserveEach(t, came.Sub(r.from), x.due)
	} else {
		t.Op = came.Sub(r.begun)
		w.recorder.Observe(t)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[i] = w.counts[i].Add(checked.Counts)
	w.bytes = w.bytes.Add(checked.Bytes)
	if window != nil {
		w.window = w.window.Add(checked.Counts)
		w.carried = w.carried.Add(checked.Bytes)
		if slot, ok := window.boundary(came); ok {
			w.boundaries[slot] += checked.Ops()
		}
	}
	w.verify.Add(checked.Verification)
	return nil
}

// replyCheck is the result of checking one reply. Only verified operations count.
type replyCheck struct {
	metrics.Counts
	metrics.Bytes
	metrics.Verification
}

// check compares a reply with its batch. An error means that the reply does not belong
// to this batch. A null server has no store: its value is right for every key.
func (w *worker) check(x *exchange, null bool) (replyCheck, error) {
	t := replyCheck{Counts: metrics.Counts{Calls: 1}}
	t.Sent, t.Received = uint64(x.batch.Size()), uint64(x.reply.Size())
	if w.repeats {
		t.Unchecked = uint64(x.batch.Len())
		t.Gets, t.Hits = t.Unchecked, t.Unchecked
		x.reply.Free()
		return t, nil
	}
	var verified [kvs.Kinds]uint64
	results := x.reply.Results()
	for i, kind := range x.kinds {
		result, err := results.Next()
		if err != nil {
			return t, err
		}
		if result.Read != kind.Reads() {
			return t, fmt.Errorf("%w reply: operation %d is a %s, its result is not", kvs.ErrMalformed, i, kind)
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
			if err != nil {
				t.Failures++
				t.First = cmp.Or(t.First, fmt.Sprintf("worker %d: %s: %v", w.id, kind, err))
				continue
			}
			t.Hits++
		case result.Read:
			t.Misses++
		}
		verified[kind]++
	}
	t.Counts = metrics.CountsOf(verified, t.Hits, t.Misses, t.Calls)
	err := results.End()
	x.reply.Free()
	return t, err
}
