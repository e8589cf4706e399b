package transactions

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/history"
	"kvlab/kvs/history/serial"
	"kvlab/kvs/route"
	"kvlab/kvs/txn"
	"kvlab/kvs/value"
	"kvlab/metrics"
)

// store executes one transaction at a time, unless it has a fault.
type store struct {
	mu     sync.Mutex
	values map[string][]byte
	older  map[string][]byte // what each key had before
	order  map[string]uint64 // versions
	fault  string
	n      int
}

func newStore(fault string) *store {
	return &store{values: map[string][]byte{}, older: map[string][]byte{}, order: map[string]uint64{}, fault: fault}
}

// transact executes an attempt. Every fifth one is aborted, and its writes stay with a fault.
func (s *store) transact(t *driver.Transactions, i int) {
	a := &t.Attempts[i]
	a.Sent = time.Now()
	defer func() { a.Came = time.Now() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	aborted := s.n%5 == 0
	if a.Outcome = txn.IsCommitted; aborted {
		a.Outcome = txn.IsAborted
	}
	for k := a.First; k < a.End; k++ {
		op, key, result := &t.Ops[k], string(t.Ops[k].Key), &t.Results[k]
		*result = driver.Result{}
		if op.Kind.Reads() {
			v, ok := s.values[key]
			if old := s.older[key]; old != nil && s.fault == "stale" && s.n%50 == 1 && !op.Kind.Writes() {
				v = old
			}
			result.Result = kvs.Result{Read: true, Found: ok, Value: v}
		}
		if op.Kind.Writes() && (!aborted || s.fault == "dirty") {
			s.order[key]++
			s.older[key], s.values[key] = s.values[key], slices.Clone(op.Value)
		}
		result.Version = s.order[key]
	}
}

// run makes the workers of some clients execute rounds for a while, and returns their slices and
// what they shared.
func run(t *testing.T, s *store, clients int, seed uint64, selected int) (all []*Slices, shared []metrics.Slice) {
	const workers, rounds, transactions, ops = 3, 40, 8, 3
	keys := history.Keys{}
	for i := range selected {
		keys.Names = append(keys.Names, fmt.Sprintf("key%02d", i))
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	for client := range clients {
		slices, recorders := New(client, workers, ops, keys)
		all = append(all, slices)
		plan := metrics.SlicePlan{Every: time.Hour, Count: 1, Ops: 1 << 12}
		stop := slices.Start(plan, time.Now(), func(s metrics.Slice) error {
			mu.Lock()
			defer mu.Unlock()
			shared = append(shared, s)
			return nil
		})
		var working sync.WaitGroup
		for id, r := range recorders {
			working.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(client*workers+id)))
				w, number := metrics.MakeWriteID(client, id, 0), uint32(0)
				for range rounds {
					round := draw(random, &w, transactions, ops)
					for i := range round.Attempts {
						s.transact(round.Transactions, i)
					}
					for i := range round.Attempts {
						number++
						r.Attempt(round, i, number, 1)
					}
				}
			})
		}
		running.Go(func() {
			working.Wait()
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	return all, shared
}

// draw returns a round of random transactions on 16 keys.
func draw(random *rand.Rand, w *metrics.WriteID, transactions, ops int) Round {
	round := Round{Transactions: new(driver.Transactions)}
	var key value.Key
	for range transactions {
		first := len(round.Ops)
		for range ops {
			op := kvs.Op{Key: fmt.Appendf(nil, "key%02d", random.IntN(16)), Kind: []kvs.Kind{kvs.Get, kvs.ReadModifyWrite, kvs.Put}[random.IntN(3)]}
			hash, wrote := route.Hash(op.Key), metrics.NoWrite
			if op.Kind.Writes() {
				*w = w.Next()
				wrote, op.Value = *w, make([]byte, value.HeaderLen)
				key.Put(op.Value, hash, wrote)
				if got := binary.LittleEndian.Uint64(op.Value[8:]); got != uint64(wrote) {
					panic(got)
				}
			}
			round.Ops, round.Hashes, round.Wrote = append(round.Ops, op), append(round.Hashes, hash), append(round.Wrote, wrote)
		}
		round.Attempts = append(round.Attempts, driver.Attempt{First: first, End: len(round.Ops)})
	}
	round.Results = make([]driver.Result, len(round.Ops))
	return round
}

// What a right store does is recorded and never accused, whether all keys are recorded or some;
// faults are found, by each client and by all together.
func TestRecordedTransactions(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, test := range []struct{ fault, want string }{{"", ""}, {"dirty", "aborted read (G1a)"}, {"stale", ""}} {
		for _, selected := range []int{16, 5} {
			for _, clients := range []int{1, 2} {
				all, shared := run(t, newStore(test.fault), clients, seed, selected)
				if len(shared) != clients {
					t.Fatalf("%d shared slices of %d clients", len(shared), clients)
				}
				for _, s := range all {
					var got metrics.Summary
					s.Report(&got)
					c := got.Check
					if c.Ops == 0 || c.Keys != selected || c.Slices == 0 || test.fault == "" && c.Fault() != "" {
						t.Errorf("%+v: %s, %s", test, c.Text(), c.Fault())
					}
					if clients == 1 && selected == 16 && (!strings.HasPrefix(c.First, test.want) || (c.Illegal > 0) != (test.fault != "")) {
						t.Errorf("%+v: %s, %q", test, c.Text(), c.First)
					}
				}
				found, bad := serial.CheckTogether(context.Background(), shared, nil)
				if clients == 1 {
					continue
				}
				if found.Slices != 1 || found.Clients != 2 || found.Ops == 0 || (bad != nil) != (test.fault != "") {
					t.Errorf("%+v, %d keys, together: %s, %q", test, selected, found.Text(), found.Fault())
				}
			}
		}
	}
}

// A recorder of many rounds of large batches keeps what New allocated, and its parts end before
// the first write that does not fit.
func TestBounds(t *testing.T) {
	keys := history.Keys{Names: []string{"key00", "key01", "key02", "key03"}}
	s, recorders := New(0, 300, 3, keys)
	r, store, w := recorders[0], newStore(""), metrics.MakeWriteID(0, 0, 0)
	random := rand.New(rand.NewPCG(1, 2))
	round := draw(random, &w, 100, 3)
	for i := range round.Attempts {
		store.transact(round.Transactions, i)
	}
	stop := s.Start(metrics.SlicePlan{}, time.Now(), nil)
	before := cap(r.part.attempts)
	if n := testing.AllocsPerRun(100, func() {
		for i := range round.Attempts {
			r.Attempt(round, i, 1, 1)
		}
	}); n > 0 {
		t.Errorf("%v allocations a round", n)
	}
	p := r.part
	if len(p.attempts) != leastOfOne || cap(p.attempts) != before || p.span.Last == 0 || p.span.Last >= uint32(w) {
		t.Errorf("%d attempts of %d at most, the span %+v", len(p.attempts), leastOfOne, p.span)
	}
	for _, a := range p.attempts {
		for _, o := range a.Ops {
			if o.Wrote != 0 && (o.Wrote.Version() <= p.span.First || o.Wrote.Version() > p.span.Last) {
				t.Errorf("it wrote %s outside of the span %+v", o.Wrote, p.span)
			}
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
