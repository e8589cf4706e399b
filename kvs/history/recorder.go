package history

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// Pending is a Recorder's state of a call in flight. The caller owns it and reuses it
// for later calls.
type Pending struct {
	Server   int // of the call
	recorded bool
	sent     int64
	ops      []pendingOp
}

// pendingOp is an operation on a recorded key.
type pendingOp struct {
	at    int32 // its number in the batch
	key   int32 // its number in the KeySet; of a scan the first key that it can find
	hash  uint64
	kind  kvs.Kind
	limit int // the most pairs of a scan
	wrote metrics.WriteID
}

// Recorder records one worker's operations on some keys, a slice at a time. Only
// its worker uses it, except for the atomic fields.
type Recorder struct {
	writer metrics.WriteID // the worker, with version 0
	keys   *KeySet
	lane   *Lane
	clock  clock.Clock

	version uint32    // the worker's last write at the send of its last round
	part    *fragment // of the slice being recorded; nil outside a slice
	last    int32     // the last slice begun
	over    bool      // the part is complete, except for calls in flight
	pending int       // recorded calls in flight
	n       int       // operations recorded in the slice
	orders  []batchOrder
	done    atomic.Pointer[fragment] // the last fragment that is complete; Slices takes it
}

// fragment is what one worker recorded in one slice.
type fragment struct {
	slice      int32
	span       metrics.WorkerSpan
	ops        [][]metrics.HistoryOp // by key
	violations []string              // operations that contradict the order of their batch
}

// maxFragment is the largest number of operations that a recorder records in a slice,
// not counting the rest of the round that reaches it. The fragments of 64 workers with
// large batches, half of them puts, then take about 10 MB.
const maxFragment = 1024

// BeginRound begins a round, before any of its calls is sent. version is the
// worker's last write, the round's own included.
func (r *Recorder) BeginRound(version uint32, now time.Time) {
	slice := r.lane.Slice()
	if r.part != nil && !r.over {
		if slice != r.last || r.n >= maxFragment {
			r.end(now)
		} else {
			r.lane.Round()
		}
	}
	if r.part == nil && slice > r.last {
		r.last, r.over, r.n = slice, false, 0
		r.part = &fragment{slice: slice, ops: make([][]metrics.HistoryOp, len(r.keys.Names))}
		r.part.span = metrics.WorkerSpan{Client: r.writer.Client(), Worker: r.writer.Worker(), First: r.version, BegunNs: r.clock.Ns(now)}
		r.lane.Begin()
	}
	r.version = version
}

// end ends the worker's part of the slice: later calls are not recorded in it.
func (r *Recorder) end(now time.Time) {
	r.over = true
	r.lane.End()
	r.part.span.Last, r.part.span.EndedNs = r.version, r.clock.Ns(now)
	r.deliver()
}

// deliver delivers the fragment if no recorded call is in flight.
func (r *Recorder) deliver() {
	if r.over && r.pending == 0 && r.part != nil {
		r.done.Store(r.part)
		r.lane.Deliver()
		r.part = nil
	}
}

// Sending keeps a batch's operations on recorded keys. It is called before the send. The
// hashes of the keys and the kinds are in the batch's order.
func (r *Recorder) Sending(p *Pending, batch *kvs.Batch, hashes []uint64, kinds []kvs.Kind, now time.Time) {
	p.sent = r.clock.Ns(now)
	p.recorded = r.part != nil && !r.over
	if !p.recorded {
		return
	}
	r.pending++
	p.ops = p.ops[:0]
	var op [1]kvs.Op
	ops := batch.Ops()
	for i, hash := range hashes {
		if _, err := ops.Next(op[:]); err != nil {
			return // cannot happen: the client encoded the batch
		}
		n := pendingOp{at: int32(i), hash: hash, kind: kinds[i]}
		if n.kind.Scans() {
			key, _ := slices.BinarySearch(r.keys.Names, string(op[0].Key))
			n.key, n.limit = int32(key), op[0].Limit()
		} else if key, ok := r.keys.Find(hash); ok {
			n.key = key
		} else {
			continue
		}
		if n.kind.Writes() {
			n.wrote = ValueIn(op[0].Value)
		}
		p.ops = append(p.ops, n)
	}
}

// ValueIn returns the value that a header names.
func ValueIn(value []byte) metrics.WriteID {
	return metrics.WriteID(binary.LittleEndian.Uint64(value[8:]))
}

// Completed records a finished call. If it failed, its reads are dropped, and its
// writes may take effect at any later time.
func (r *Recorder) Completed(p *Pending, reply *kvs.Reply, err error) {
	now := r.clock.Ns(time.Now())
	if !p.recorded {
		// A call that was sent before the slice may have been executed inside it. A
		// worker's calls complete in order, so this one completes before those of the
		// slice, and before the fragment is delivered.
		if r.part != nil && p.sent < r.part.span.BegunNs {
			r.part.span.BegunNs = now
			if err != nil {
				r.part.span.BegunNs = metrics.Never
			}
		}
		return
	}
	p.recorded = false
	r.pending--
	if err == nil {
		r.results(p, reply, now)
	}
	for _, n := range p.ops {
		if err != nil && (n.wrote != metrics.NoWrite || n.kind == kvs.Delete) {
			r.add(p, n, nil, metrics.Never)
		}
	}
	r.deliver()
}

// add records an operation of a call.
func (r *Recorder) add(p *Pending, n pendingOp, read *metrics.WriteID, returned int64) {
	o := op{Client: r.writer.Client(), Worker: r.writer.Worker(), Wrote: n.wrote, Read: read, Deleted: n.kind == kvs.Delete, CallNs: p.sent, ReturnNs: returned}
	r.part.ops[n.key] = append(r.part.ops[n.key], o)
	r.n++
}

// results records a reply and checks it against its batch's order. It does not report a
// malformed reply or value: the worker's check does.
func (r *Recorder) results(p *Pending, reply *kvs.Reply, returned int64) {
	for i := range r.orders {
		r.orders[i].begin()
	}
	results := reply.Results()
	next := int32(0)
	for _, n := range p.ops {
		var result kvs.Result
		for ; next <= n.at; next++ {
			var err error
			if result, err = results.Next(); err != nil {
				return
			}
		}
		if n.kind.Scans() {
			r.scan(p, n, result.Value, returned)
		} else {
			r.result(p, n, result, returned)
		}
	}
}

// scan records a scan's result as a read of each recorded key of the server that the scan
// covers: those up to its last pair, and all if it has fewer pairs than its limit.
func (r *Recorder) scan(p *Pending, n pendingOp, value []byte, returned int64) {
	key, none := int(n.key), kvs.Result{Read: true}
	reads := func(result kvs.Result) {
		if r.keys.Owners[key] == p.Server {
			n.key, n.hash = int32(key), r.keys.hashes[key]
			r.result(p, n, result, returned)
		}
	}
	for pairs := kvs.PairsOf(value); pairs.More(); n.limit-- {
		name, value, err := pairs.Next()
		if err != nil {
			return
		}
		for ; key < len(r.keys.Names) && r.keys.Names[key] < string(name); key++ {
			reads(none)
		}
		if key < len(r.keys.Names) && r.keys.Names[key] == string(name) {
			reads(kvs.Result{Read: true, Found: true, Value: value})
			key++
		}
	}
	for ; n.limit > 0 && key < len(r.keys.Names); key++ {
		reads(none)
	}
}

func (r *Recorder) result(p *Pending, n pendingOp, result kvs.Result, returned int64) {
	order := &r.orders[n.key]
	var read *metrics.WriteID
	if result.Read {
		seen := metrics.NoWrite
		if result.Found {
			if len(result.Value) < value.HeaderLen || value.HashIn(result.Value) != n.hash {
				return // not a value of this key
			}
			seen = ValueIn(result.Value)
		}
		fresh, violation := order.read(r.writer, seen)
		r.orderViolation(n, violation)
		if !fresh && !n.kind.Writes() {
			return // like the one before it in this batch
		}
		read = &seen
	}
	if n.wrote != metrics.NoWrite || read == nil {
		r.orderViolation(n, order.wrote(n.wrote))
	}
	r.add(p, n, read, returned)
}

// orderViolation records a contradiction to the order of a batch, unless what is "".
func (r *Recorder) orderViolation(n pendingOp, what string) {
	if what != "" {
		r.part.violations = append(r.part.violations, fmt.Sprintf("key %s: worker %d of client %d: operation %d of a batch: %s",
			r.keys.Names[n.key], r.writer.Worker(), r.writer.Client(), n.at, what))
	}
}

// Keys holds the keys whose operations are recorded.
type Keys struct {
	Names    []string // sorted
	Owners   []int    // their servers' numbers
	Deleters int      // workers of the run if its workload deletes; 0: nothing is ever deleted
}

// KeySet is the immutable set of keys whose operations are recorded.
type KeySet struct {
	Keys
	hashes []uint64
	index  map[uint64]int32 // by hash
	filter [64]uint64       // a bit for the low 12 bits of each hash
}

// NewKeySet returns the set of some keys.
func NewKeySet(keys Keys) *KeySet {
	s := &KeySet{Keys: keys, index: make(map[uint64]int32)}
	for i, name := range keys.Names {
		hash := route.Hash([]byte(name))
		s.hashes = append(s.hashes, hash)
		s.index[hash] = int32(i)
		s.filter[hash>>6&63] |= 1 << (hash & 63)
	}
	return s
}

// Find returns the number of the key with a hash; false for most hashes.
func (s *KeySet) Find(hash uint64) (int32, bool) {
	if s.filter[hash>>6&63]>>(hash&63)&1 == 0 {
		return 0, false
	}
	key, ok := s.index[hash]
	return key, ok
}
