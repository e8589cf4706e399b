package loadgen

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/value"
	"kvlab/metrics"
)

// tape records one worker's operations on some keys, a slice at a time. Only its
// worker uses it, but for what is atomic.
type tape struct {
	who    value.Writer // with version 0
	sample *sample
	slicer *slicer

	version uint32 // the worker's last when its last round was sent
	span    metrics.WorkerSpan
	part    *part // of the slice that is being recorded; nil outside one
	last    int32 // the last slice that was begun
	over    bool  // the slice is, and calls of it may be under way
	pending int   // recorded calls under way
	n       int   // operations recorded in the slice
	orders  []order
	rounds  atomic.Int32 // sent in the slice
}

func newTape(who value.Writer, s *slicer) *tape {
	t := &tape{who: who, sample: s.sample, slicer: s, orders: make([]order, len(s.sample.names))}
	for i := range t.orders {
		t.orders[i].who = who
	}
	return t
}

// part is what one worker recorded in one slice.
type part struct {
	slice int32
	span  metrics.WorkerSpan
	ops   [][]metrics.HistoryOp // by key
	order []string              // operations that contradict the order of their batch, in words
}

// noted is what a tape remembers of a call under way.
type noted struct {
	on  bool
	ops []notedOp
}

// notedOp is an operation on a key of the sample.
type notedOp struct {
	at    int32 // in the batch
	key   int32 // in the sample
	kind  kvs.Kind
	wrote metrics.Value
}

// most is how many operations a tape takes in a slice, but for the rest of the
// round that reaches it. 64 workers' parts of large batches, half of them puts,
// then have some 10 MB.
const most = 1024

// turn is called when a round is about to be sent. latest is the writer's last
// version, which this round's writes have.
func (t *tape) turn(latest value.Writer, now time.Time) {
	slice := t.slicer.slice.Load()
	if t.part != nil && !t.over {
		if slice != t.last || t.n >= most {
			t.end(now)
		} else {
			t.rounds.Add(1)
		}
	}
	if t.part == nil && slice > t.last {
		t.last, t.over, t.n = slice, false, 0
		t.part = &part{slice: slice, ops: make([][]metrics.HistoryOp, len(t.sample.names))}
		t.span = metrics.WorkerSpan{Client: t.who.Client(), Worker: t.who.Worker(), First: t.version, BegunNs: t.slicer.ns(now)}
		t.rounds.Store(1)
		t.slicer.recording.Add(1)
	}
	t.version = uint32(latest)
}

// end ends the tape's part of the slice: what is sent from now on is not recorded.
func (t *tape) end(now time.Time) {
	t.over = true
	t.rounds.Store(sliceRounds)
	t.span.Last, t.span.EndedNs = t.version, t.slicer.ns(now)
	t.deliver()
}

// deliver hands the part over once no recorded call is under way.
func (t *tape) deliver() {
	if t.over && t.pending == 0 && t.part != nil {
		t.part.span = t.span
		t.slicer.receive(t.part)
		t.part = nil
	}
}

// finish delivers what there is. It is for after the worker's last call.
func (t *tape) finish() {
	if t.part != nil && !t.over {
		t.end(time.Now())
	}
}

// note remembers a batch's operations on keys of the sample before it is sent.
func (t *tape) note(x *exchange) {
	x.noted.on = t.part != nil && !t.over
	if !x.noted.on {
		return
	}
	t.pending++
	x.noted.ops = x.noted.ops[:0]
	var op [1]kvs.Op
	ops := x.batch.Ops()
	for i, hash := range x.hashes {
		if _, err := ops.Next(op[:]); err != nil {
			return // our own batch: it cannot be
		}
		key, ok := t.sample.find(hash)
		if !ok {
			continue
		}
		n := notedOp{at: int32(i), key: key, kind: x.kinds[i]}
		if n.kind.Writes() {
			n.wrote = valueIn(op[0].Value)
		}
		x.noted.ops = append(x.noted.ops, n)
	}
}

// valueIn is the value that a header names.
func valueIn(value []byte) metrics.Value {
	return metrics.Value(binary.LittleEndian.Uint64(value[8:]))
}

// take records what has become of a call. Of one that failed, nothing is known:
// its reads are of no use, and its writes may happen at any time.
func (t *tape) take(x *exchange, err error) {
	now := time.Now()
	if !x.noted.on {
		// Sent before the slice, it may have been at work in it until now. A
		// worker takes its calls in their order, so this one comes before those
		// of the slice, and before the part is delivered.
		if t.part != nil && t.slicer.ns(x.sent) < t.span.BegunNs {
			t.span.BegunNs = t.slicer.ns(now)
			if err != nil {
				t.span.BegunNs = metrics.Never
			}
		}
		return
	}
	x.noted.on = false
	t.pending--
	if err != nil {
		t.lost(x)
	} else {
		t.results(x, t.slicer.ns(now))
	}
	t.deliver()
}

// lost records the writes of a call that failed.
func (t *tape) lost(x *exchange) {
	for _, n := range x.noted.ops {
		if n.wrote != metrics.NoValue {
			t.put(n.key, t.op(x, metrics.Never), n.wrote)
		}
	}
}

// op is an operation of a call by the tape's worker.
func (t *tape) op(x *exchange, returned int64) metrics.HistoryOp {
	return metrics.HistoryOp{Client: t.who.Client(), Worker: t.who.Worker(), CallNs: t.slicer.ns(x.sent), ReturnNs: returned}
}

func (t *tape) put(key int32, o metrics.HistoryOp, wrote metrics.Value) {
	o.Wrote = wrote
	t.part.ops[key] = append(t.part.ops[key], o)
	t.n++
}

// results records a reply, and compares it with its batch's order. What is wrong
// with a reply or a value as such, the worker's own check says.
func (t *tape) results(x *exchange, returned int64) {
	for i := range t.orders {
		t.orders[i].begin()
	}
	results := x.reply.Results()
	next := int32(0)
	for _, n := range x.noted.ops {
		var result kvs.Result
		for ; next <= n.at; next++ {
			var err error
			if result, err = results.Next(); err != nil {
				return
			}
		}
		t.result(x, n, result, returned)
	}
}

func (t *tape) result(x *exchange, n notedOp, r kvs.Result, returned int64) {
	o, order := t.op(x, returned), &t.orders[n.key]
	if r.Read {
		seen := metrics.NoValue
		if r.Found {
			if len(r.Value) < value.HeaderLen || value.HashIn(r.Value) != x.hashes[n.at] {
				return // no value of this key
			}
			seen = valueIn(r.Value)
		}
		fresh, fault := order.read(seen)
		t.disorder(n, fault)
		if !fresh && n.kind == kvs.Get {
			return // like another of this batch
		}
		o.Read = &seen
	}
	if n.wrote != metrics.NoValue {
		t.disorder(n, order.wrote(n.wrote))
	}
	t.put(n.key, o, n.wrote)
}

// disorder notes what contradicts the order of a batch, if there is something.
func (t *tape) disorder(n notedOp, fault string) {
	if fault != "" {
		t.part.order = append(t.part.order, fmt.Sprintf("key %s: worker %d of client %d: operation %d of a batch: %s",
			t.sample.names[n.key], t.who.Worker(), t.who.Client(), n.at, fault))
	}
}
