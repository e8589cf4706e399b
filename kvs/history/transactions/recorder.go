// Package transactions records attempts of a run's transactions, in slices as package history
// records single operations, and verifies that they are strictly serializable.
package transactions

import (
	"sync/atomic"

	"kvlab/kvs/driver"
	"kvlab/kvs/history"
	"kvlab/kvs/history/serial"
	"kvlab/kvs/txn"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// Bounds of what all workers of a client record in a slice. An attempt takes 72 bytes, and each
// of its operations 40: a slice takes 1 MB.
const (
	mostAttempts = 4096
	mostOps      = 1 << 14
	leastOfOne   = 16 // a worker records that many attempts, however many workers there are
)

// Round is an executed round of attempts.
type Round struct {
	*driver.Transactions
	Hashes []uint64          // of the operations' keys
	Wrote  []metrics.WriteID // of the operations; NoWrite of one that writes no value
}

// Recorder records one worker's attempts on some keys, a slice at a time, and of each attempt
// the operations on these keys. It allocates nothing. Only its worker uses it, except for the
// atomic field.
type Recorder struct {
	writer metrics.WriteID // the worker, with version 0
	keys   *history.KeySet
	lane   *history.Lane
	clock  clock.Clock

	version uint32 // of the worker's last write before the attempt that comes next
	unsure  bool   // the outcome of an attempt is unknown
	last    int32  // the last slice begun
	open    bool   // the part is being recorded
	part    part
	done    atomic.Pointer[part] // the part when it is complete; Slices takes it
}

// part is what one worker recorded in one slice. Its memory is used again for the next slice
// that the worker records, which begins when this one is verified.
type part struct {
	slice    int32
	span     metrics.WorkerSpan
	attempts []serial.Attempt
	ops      []serial.Op
}

// After says that the worker has written up to a version, before its first attempt.
func (r *Recorder) After(version uint32) { r.version = version }

// Attempt records attempt i of a round, which is try number tries, from 1, of the worker's
// transaction number. It is called for all attempts of a round in their order, and the values
// of the attempts are numbered in that order.
func (r *Recorder) Attempt(round Round, i int, number uint32, tries int) {
	a := &round.Attempts[i]
	if i == 0 {
		r.beginRound(r.clock.Ns(a.Sent))
	}
	if r.open && !r.add(round, a, number, tries) {
		r.end(r.clock.Ns(a.Sent))
	}
	for _, wrote := range round.Wrote[a.First:a.End] {
		if wrote != metrics.NoWrite {
			r.version = wrote.Version()
		}
	}
	r.unsure = r.unsure || a.Outcome == txn.IsUnknown
}

// beginRound ends the part of a slice that is over, or begins that of a new one.
func (r *Recorder) beginRound(now int64) {
	slice := r.lane.Slice()
	switch {
	case r.open && slice != r.last:
		r.end(now)
	case r.open:
		r.lane.Round()
	}
	if r.open || slice <= r.last {
		return
	}
	r.last, r.open = slice, true
	p := &r.part
	p.slice, p.attempts, p.ops = slice, p.attempts[:0], p.ops[:0]
	p.span = metrics.WorkerSpan{Client: r.writer.Client(), Worker: r.writer.Worker(), First: r.version, BegunNs: now}
	if r.unsure {
		p.span.BegunNs = metrics.Never
	}
	r.lane.Begin()
}

// end completes the part.
func (r *Recorder) end(now int64) {
	r.open = false
	r.part.span.Last, r.part.span.EndedNs = r.version, now
	r.lane.End()
	r.done.Store(&r.part)
	r.lane.Deliver()
}

// outcomes are the outcomes as package serial has them.
var outcomes = [...]serial.Outcome{txn.IsCommitted: serial.Committed, txn.IsAborted: serial.Aborted, txn.IsUnknown: serial.Unknown}

// add adds an attempt to the part, unless it touches no recorded key. It returns false if the
// part is full.
func (r *Recorder) add(round Round, a *driver.Attempt, number uint32, tries int) bool {
	p := &r.part
	if len(p.attempts) == cap(p.attempts) || len(p.ops)+a.End-a.First > cap(p.ops) {
		return false
	}
	first := len(p.ops)
	for k := a.First; k < a.End; k++ {
		key, ok := r.keys.Find(round.Hashes[k])
		if !ok {
			continue
		}
		o := serial.Op{Key: uint32(key), Wrote: round.Wrote[k]}
		if a.Outcome == txn.IsCommitted {
			o.Version = round.Results[k].Version
			o.Read, o.Reads = readBy(&round.Results[k], round.Hashes[k])
		}
		p.ops = append(p.ops, o)
	}
	if len(p.ops) > first {
		p.attempts = append(p.attempts, serial.Attempt{
			Client: uint16(r.writer.Client()), Worker: uint16(r.writer.Worker()), Number: number, Try: uint16(tries - 1),
			Outcome: outcomes[a.Outcome], CallNs: r.clock.Ns(a.Sent), ReturnNs: r.clock.Ns(a.Came), Ops: p.ops[first:len(p.ops):len(p.ops)],
		})
	}
	return true
}

// readBy returns the value that an operation read. ok is false if it read none, or one that is
// not of its key, which the worker's check reports.
func readBy(result *driver.Result, hash uint64) (read metrics.WriteID, ok bool) {
	switch v := result.Value; {
	case !result.Read:
		return 0, false
	case !result.Found:
		return metrics.NoWrite, true
	case len(v) < value.HeaderLen || value.HashIn(v) != hash:
		return 0, false
	default:
		return history.ValueIn(v), true
	}
}
