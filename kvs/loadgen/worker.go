package loadgen

import (
	"fmt"
	"sync"
	"time"

	"kvlab/kvs"
	"kvlab/metrics"
	"kvlab/workload"
)

// worker is one goroutine's whole world. Only what stands below mu is looked at
// by others, once a second; the worker takes the lock once per call.
type worker struct {
	id       int
	conns    []conn // one for each server
	exchange []exchange
	router   kvs.Router
	source   *workload.Source
	keys     keys
	writer   writer
	checker  checker
	recorder *metrics.Recorder
	ops      [drawn]workload.Op

	mu     sync.Mutex
	counts []metrics.Counts // by server; guarded by mu
	window metrics.Counts   // guarded by mu
	verify metrics.Verification
}

// drawn is how many operations a worker draws at a time: few enough that they
// are still in the first-level cache when they are put into batches.
const drawn = 512

// exchange is a worker's batch to one server, what it must remember of it, and
// the reply to it.
type exchange struct {
	server string // its node name
	null   bool   // the server has no store: a value is right for every key
	call   kvs.Call
	batch  kvs.Batch
	reply  kvs.Reply
	hashes []uint64   // the keys' hashes, in the batch's order
	kinds  []kvs.Kind // the operations' kinds, likewise
	sent   time.Time
}

func newWorker(c Config, id int, plan *workload.Plan, router kvs.Router, recorder *metrics.Recorder) *worker {
	w := &worker{
		id:       id,
		exchange: make([]exchange, c.Servers()),
		router:   router,
		source:   plan.Source(c.Index, id),
		keys:     newKeys(c.KeyPrefix),
		writer:   newWriter(c.Index, id),
		checker:  checker{size: c.ValueSize, clients: c.Clients, workers: c.Workers, every: c.Verify, until: 1},
		recorder: recorder,
		counts:   make([]metrics.Counts, c.Servers()),
	}
	for i := range w.exchange {
		x := &w.exchange[i]
		x.call.Batch, x.call.Reply = &x.batch, &x.reply
	}
	return w
}

// kindOf maps what the workload asks for to what the store does.
var kindOf = [...]kvs.Kind{
	workload.Read:            kvs.Get,
	workload.Update:          kvs.Put,
	workload.ReadModifyWrite: kvs.ReadModifyWrite,
}

// add puts operations into the batches of the servers that own their keys. It
// is the hot half of a client: no allocation, lock, clock or shared write.
func (w *worker) add(ops []workload.Op) {
	for _, op := range ops {
		key, hash := w.keys.key(op.Key)
		server := 0
		if len(w.exchange) > 1 {
			server = w.router.Server(key, hash)
		}
		x := &w.exchange[server]
		kind := kindOf[op.Kind]
		x.hashes = append(x.hashes, hash)
		x.kinds = append(x.kinds, kind)
		if kind == kvs.Get {
			x.batch.Get(key)
			continue
		}
		w.writer = w.writer.next()
		putValue(x.batch.Reserve(kind, key, w.checker.size), hash, w.writer)
	}
}

// reset empties the batches for a new round.
func (w *worker) reset() {
	for i := range w.exchange {
		x := &w.exchange[i]
		x.batch.Reset()
		x.hashes = x.hashes[:0]
		x.kinds = x.kinds[:0]
	}
}

// exchangeAll sends every batch that is not empty and then takes the replies in.
// begun is when the round's first operation was due; phaseAt says what phase a
// reply belongs to by the time when it came.
func (w *worker) exchangeAll(begun time.Time, phaseAt func(time.Time) metrics.Phase) error {
	for i := range w.exchange {
		if x := &w.exchange[i]; x.batch.Len() > 0 {
			x.sent = time.Now()
			w.conns[i].Send(&x.call)
		}
	}
	var first error
	for i := range w.exchange {
		x := &w.exchange[i]
		if x.batch.Len() == 0 {
			continue
		}
		err := w.conns[i].Wait(&x.call)
		if err == nil && first == nil {
			err = w.take(i, begun, phaseAt)
		}
		if err != nil && first == nil {
			first = fmt.Errorf("call of %d operations to server %s: %w", x.batch.Len(), x.server, err)
		}
	}
	return first
}

// take checks the reply of server i and counts it.
func (w *worker) take(i int, begun time.Time, phaseAt func(time.Time) metrics.Phase) error {
	x := &w.exchange[i]
	came := time.Now()
	tally, err := w.check(x)
	if err != nil {
		return err
	}
	phase := phaseAt(came)
	w.recorder.Observe(phase, came.Sub(x.sent), came.Sub(begun), x.batch.Len())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[i] = w.counts[i].Add(tally.Counts)
	if phase == metrics.Window {
		w.window = w.window.Add(tally.Counts)
	}
	w.verify.Checked += tally.Checked
	w.verify.Compared += tally.Compared
	w.verify.Failures += tally.Failures
	if x.null {
		w.verify.AnyKey += tally.Checked
	}
	if w.verify.First == "" {
		w.verify.First = tally.First
	}
	return nil
}

// tally is what the check of one reply found. Only verified operations count.
type tally struct {
	metrics.Counts
	metrics.Verification
}

// check walks a batch's reply beside what is remembered of the batch. An error
// means that the reply is not one to this batch.
func (w *worker) check(x *exchange) (tally, error) {
	t := tally{Counts: metrics.Counts{Calls: 1}}
	var right [3]uint64 // verified operations by kind
	results := x.reply.Results()
	for i, kind := range x.kinds {
		result, err := results.Next()
		if err != nil {
			return t, err
		}
		if result.Read == (kind == kvs.Put) {
			return t, fmt.Errorf("%w reply: operation %d is a %s, its result is not", kvs.ErrMalformed, i, kind)
		}
		switch {
		case result.Found:
			hash := x.hashes[i]
			if x.null {
				hash = hashIn(result.Value)
			}
			compared, err := w.checker.value(result.Value, hash)
			t.Checked++
			if compared {
				t.Compared++
			}
			if err != nil {
				t.fail(fmt.Errorf("worker %d: %s: %w", w.id, kind, err))
				continue
			}
			t.Hits++
		case result.Read:
			t.Misses++
		}
		right[kind]++
	}
	t.Gets, t.Puts, t.ReadModifyWrites = right[kvs.Get], right[kvs.Put], right[kvs.ReadModifyWrite]
	err := results.End()
	x.reply.Free()
	return t, err
}

func (t *tally) fail(err error) {
	t.Failures++
	if t.First == "" {
		t.First = err.Error()
	}
}
