package drivertest

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/history/serial"
	"kvlab/kvs/txn"
	"kvlab/metrics"
)

// Sizes of the suite of transactions: few keys, so that attempts meet.
const (
	txnKeys    = 8
	txnWorkers = 4
	txnRounds  = 60
	txnOps     = 4 // of a transaction at most
	txnBatch   = 3 // transactions of a round
)

// Transactions tests the driver of a Transactional store of some empty servers: workers execute
// transactions at the same time, and try the refused ones again. What they see must be strictly
// serializable, and what is aborted leaves nothing. Kinds are those of the operations, Get and
// Put among them.
func (s Suite) Transactions(t *testing.T, servers int, d driver.Driver) {
	random := kvstest.NewRandom(t)
	all := make([]*Transactor, txnWorkers)
	var running sync.WaitGroup
	for id := range all {
		w := s.NewTransactor(t, d, servers, id, random.Uint64())
		all[id] = w
		running.Go(func() {
			for range txnRounds {
				if !w.Round(func() serial.Attempt { return w.Draw(txnOps) }) {
					return
				}
			}
		})
	}
	running.Wait()
	reader := s.NewTransactor(t, d, servers, txnWorkers, 0)
	reader.Size = 1
	for try := 0; reader.Commits == 0; try++ {
		if !reader.Round(Whole) || try > 1000 {
			t.Fatalf("a transaction that reads all keys is refused %d times, when no other runs", try)
		}
	}
	all = append(all, reader)
	if f := serial.Check(History(all)); f != nil {
		t.Fatalf("%s: %s", f.Anomaly, f.Why)
	}
	attempts, commits, unknown := 0, 0, 0
	for _, w := range all[:txnWorkers] {
		attempts, commits, unknown = attempts+len(w.Attempts), commits+w.Commits, unknown+w.Unknown
	}
	if t.Logf("%d attempts, %d commits, %d unknown", attempts, commits, unknown); commits == 0 {
		t.Error("no worker has committed anything")
	}
}

// Whole returns a transaction that reads all keys.
func Whole() (a serial.Attempt) {
	for key := range txnKeys {
		a.Ops = append(a.Ops, serial.Op{Key: uint32(key), Reads: true})
	}
	return a
}

// History puts together what workers recorded.
func History(all []*Transactor) *serial.History {
	h := &serial.History{}
	for key := range txnKeys {
		h.Keys = append(h.Keys, string(txnKey(uint32(key))))
	}
	for _, w := range all {
		h.Attempts = append(h.Attempts, w.Attempts...)
		h.Spans = append(h.Spans, metrics.WorkerSpan{Worker: w.id, Last: w.writes})
	}
	return h
}

func txnKey(key uint32) []byte { return []byte{'t', 'x', 'n', byte('0' + key)} }

// Transactor is a worker that executes transactions and records them.
type Transactor struct {
	driver.Transactor
	Attempts         []serial.Attempt // of all rounds
	Commits, Unknown int
	Last             driver.Transactions // the last round
	Size             int                 // transactions of a round
	Mortal           bool                // its client dies at the first error

	t       *testing.T
	random  *rand.Rand
	kinds   []kvs.Kind
	servers int
	id      int
	writes  uint32
	number  uint32
	age     uint64
	pending []serial.Attempt // to try again
}

// began is the beginning of the time that histories are in.
var began = time.Now()

// NewTransactor returns a worker with connections of its own.
func (s Suite) NewTransactor(t *testing.T, d driver.Driver, servers, id int, seed uint64) *Transactor {
	t.Helper()
	var conns []driver.Conn
	for server := range servers {
		conn, _, err := d.Dial(t.Context(), server, id)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		conns = append(conns, conn)
	}
	transactor, err := d.(driver.Transactional).Transactor(conns)
	if err != nil {
		t.Fatal(err)
	}
	return &Transactor{Transactor: transactor, t: t, random: rand.New(rand.NewPCG(seed, uint64(id))), kinds: s.Kinds, servers: servers, id: id, Size: txnBatch}
}

// Draw returns a transaction of 1 to ops operations.
func (w *Transactor) Draw(ops int) serial.Attempt {
	var a serial.Attempt
	for range 1 + w.random.IntN(ops) {
		o := serial.Op{Key: uint32(w.random.IntN(txnKeys)), Reads: w.random.IntN(2) == 0, Wrote: 1} // stamped in each attempt
		if o.Reads && (w.random.IntN(2) == 0 || !slices.Contains(w.kinds, kvs.ReadModifyWrite)) {
			o.Wrote = metrics.NoWrite
		}
		a.Ops = append(a.Ops, o)
	}
	return a
}

// Round executes a round of what was refused before and what draw returns. It reports false
// after an error, which fails the test.
func (w *Transactor) Round(draw func() serial.Attempt) bool {
	r := &w.Last
	r.Attempts, r.Ops, r.Places = r.Attempts[:0], r.Ops[:0], r.Places[:0]
	all := w.pending
	if len(all) == 0 {
		w.age = uint64(time.Since(began))<<8 | uint64(w.id)
	}
	for len(all) < w.Size {
		a := draw()
		w.number++
		a.Worker, a.Number = uint16(w.id), w.number
		all = append(all, a)
	}
	for i := range all {
		w.stamp(&all[i])
		first := len(r.Ops)
		for _, o := range all[i].Ops {
			op := kvs.Op{Key: txnKey(o.Key)}
			if o.Wrote != metrics.NoWrite {
				op.Kind, op.Value = kvs.Put, binary.LittleEndian.AppendUint64(nil, uint64(o.Wrote))
			}
			if o.Wrote != metrics.NoWrite && o.Reads {
				op.Kind = kvs.ReadModifyWrite
			}
			r.Ops, r.Places = append(r.Ops, op), append(r.Places, uint16(int(o.Key)%w.servers))
		}
		r.Attempts = append(r.Attempts, driver.Attempt{First: first, End: len(r.Ops)})
	}
	r.Age = w.age
	err := w.Transact(r)
	if err != nil && !w.Mortal {
		w.t.Errorf("worker %d: %v", w.id, err)
	}
	for i := range r.Attempts {
		if a := &r.Attempts[i]; err != nil {
			a.Outcome, a.Came = txn.IsUnknown, time.Now()
		}
	}
	w.record(all)
	return err == nil
}

// stamp gives an attempt's writes values of their own.
func (w *Transactor) stamp(a *serial.Attempt) {
	a.Ops = slices.Clone(a.Ops)
	for i := range a.Ops {
		if o := &a.Ops[i]; o.Wrote != metrics.NoWrite {
			w.writes++
			o.Wrote = metrics.MakeWriteID(0, w.id, w.writes)
		}
	}
}

// record records the attempts of a round, and keeps the aborted ones for the next.
func (w *Transactor) record(all []serial.Attempt) {
	w.pending = nil
	for i, got := range w.Last.Attempts {
		a := all[i]
		a.CallNs, a.ReturnNs = int64(got.Sent.Sub(began)), int64(got.Came.Sub(began))
		if !got.Came.After(got.Sent) {
			w.t.Errorf("worker %d: an attempt came at %v, and was sent at %v", w.id, got.Came, got.Sent)
		}
		a.Outcome = serial.Outcome(got.Outcome)
		switch got.Outcome {
		case txn.IsUnknown:
			w.Unknown++
		case txn.IsAborted:
			again := a
			again.Try++
			w.pending = append(w.pending, again)
		case txn.IsCommitted:
			w.Commits++
			w.results(&a, w.Last.Results[got.First:got.End])
		}
		w.Attempts = append(w.Attempts, a)
	}
}

// results records the results of a committed attempt.
func (w *Transactor) results(a *serial.Attempt, results []driver.Result) {
	for i := range a.Ops {
		o, r := &a.Ops[i], results[i]
		if r.Read != o.Reads {
			w.t.Errorf("worker %d: a result %+v of %+v", w.id, r, *o)
		}
		if o.Version = r.Version; r.Read && r.Found {
			o.Read = metrics.WriteID(binary.LittleEndian.Uint64(r.Value))
		}
	}
}
