package txn

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/history/serial"
	"kvlab/kvs/route"
	"kvlab/metrics"
)

// cluster is some servers' tables, and a clock for all.
type cluster struct {
	t      testing.TB
	tables []*Table
	keys   [][]byte
	began  time.Time
}

// newCluster returns servers with some bits of words each: few words have several keys.
func newCluster(t testing.TB, policy Policy, servers, keys, bits int) *cluster {
	c := &cluster{t: t, began: time.Now()}
	for range servers {
		table := newTable(engine.NewSyncMap(), policy, bits)
		table.patience = 2 * time.Millisecond
		c.tables = append(c.tables, table)
	}
	for i := range keys {
		c.keys = append(c.keys, fmt.Appendf(nil, "key%d", i))
	}
	return c
}

func (c *cluster) server(key uint32) int { return int(route.Hash(c.keys[key]) % uint64(len(c.tables))) }

func (c *cluster) now() time.Duration { return time.Since(c.began) }

// execute executes a batch on a server.
func (c *cluster) execute(server int, batch *kvs.Batch, reply *kvs.Reply) Tally {
	reply.Reset()
	tally, err := c.tables[server].Execute(batch, reply, c.now())
	if err != nil {
		c.t.Errorf("server %d: %v", server, err)
	}
	return tally
}

// worker is a client's worker: it draws transactions, coordinates them and records them.
type worker struct {
	*cluster
	*rand.Rand
	*Coordinator
	id       int
	number   uint64
	writes   uint32
	attempts []serial.Attempt
	parts    []share // the coordinator's attempts
	reply    kvs.Reply
	tally    Tally
	refused  map[kvs.Status]int
	age      uint64 // of the round: the time of its oldest transaction's first attempt, and the worker

	halves bool // a fault: it runs the parts of a transaction one by one
	greedy bool // a fault: it commits what voted, though another server refused
	mortal bool // it dies at some time after a vote
	dead   bool
}

func (c *cluster) worker(id int, seed uint64) *worker {
	return &worker{cluster: c, Rand: rand.New(rand.NewPCG(seed, uint64(id))), Coordinator: NewCoordinator(uint64(id), len(c.tables), 0), id: id, refused: map[kvs.Status]int{}}
}

// draw returns a transaction of some operations.
func (w *worker) draw(ops int) serial.Attempt {
	w.number++
	a := serial.Attempt{Worker: uint16(w.id), Number: uint32(w.number), Outcome: serial.Aborted}
	for range ops {
		o := serial.Op{Key: uint32(float64(len(w.keys)) * w.Float64() * w.Float64())}
		kind := w.IntN(4)
		if o.Reads = kind < 3; kind > 1 {
			w.writes++
			o.Wrote = metrics.MakeWriteID(0, w.id, w.writes)
		}
		a.Ops = append(a.Ops, o)
	}
	return a
}

// add adds a transaction to the round; with halves as one attempt a server.
func (w *worker) add(number int, a *serial.Attempt) {
	var ops []kvs.Op
	var places []uint16
	for _, o := range a.Ops {
		op := kvs.Op{Key: w.keys[o.Key]}
		switch {
		case o.Reads && o.Wrote != metrics.NoWrite:
			op.Kind = kvs.ReadModifyWrite
		case !o.Reads:
			op.Kind = kvs.Put
		}
		if o.Wrote != metrics.NoWrite {
			op.Value = binary.LittleEndian.AppendUint64(nil, uint64(o.Wrote))
		}
		ops, places = append(ops, op), append(places, uint16(w.server(o.Key)))
	}
	for server := range w.tables {
		p := share{of: number}
		var some []kvs.Op
		var there []uint16
		for i := range ops {
			if !w.halves || int(places[i]) == server {
				p.ops, some, there = append(p.ops, i), append(some, ops[i]), append(there, places[i])
			}
		}
		if len(some) > 0 {
			w.Add(some, there)
			w.parts = append(w.parts, p)
		}
		if !w.halves {
			return
		}
	}
}

// share is an attempt of the coordinator: some operations of one of the round's transactions.
type share struct {
	of  int
	ops []int
}

// round executes some transactions, and returns those that were refused.
func (w *worker) round(all []serial.Attempt) (refused []serial.Attempt) {
	if len(all) == 0 {
		return nil
	}
	if all[0].Try == 0 {
		w.age = uint64(w.now())<<8 | uint64(w.id)
	}
	w.Begin(w.age, true)
	w.parts = w.parts[:0]
	for i := range all {
		all[i].CallNs = int64(w.now())
		w.add(i, &all[i])
	}
	for server := range w.tables {
		w.call(server, &w.Votes[server], func(reply *kvs.Reply) error {
			return w.Voted(server, reply, func(attempt, op int, result kvs.Result, version uint64) error {
				p := w.parts[attempt]
				o := &all[p.of].Ops[p.ops[op]]
				if result.Read != o.Reads {
					w.t.Errorf("worker %d: a result %+v of %+v", w.id, result, *o)
				}
				if o.Version = version; result.Found {
					o.Read = metrics.WriteID(binary.LittleEndian.Uint64(result.Value))
				}
				return nil
			})
		})
	}
	for i := range w.Coordinator.attempts {
		if a := &w.Coordinator.attempts[i]; w.greedy && !a.alone {
			a.status = kvs.Done
		}
	}
	w.Decide()
	last := len(w.tables)
	if w.dead = w.mortal && w.IntN(4) == 0; w.dead {
		last = w.IntN(last)
	}
	for server := range w.tables[:last] {
		w.call(server, &w.Decisions[server], func(reply *kvs.Reply) error { return w.Decided(server, reply) })
	}
	return w.record(all)
}

// call executes a batch, unless it is empty, and reads its reply.
func (w *worker) call(server int, batch *kvs.Batch, read func(*kvs.Reply) error) {
	if batch.Len() == 0 {
		return
	}
	tally := w.execute(server, batch, &w.reply)
	w.tally.add(&tally)
	if err := read(&w.reply); err != nil {
		w.t.Errorf("worker %d: %v", w.id, err)
	}
	runtime.Gosched()
}

// record records the outcomes, and returns the transactions that were aborted.
func (w *worker) record(all []serial.Attempt) (refused []serial.Attempt) {
	for i := range all {
		all[i].Outcome = serial.Committed
	}
	for i, p := range w.parts {
		switch outcome, why := w.Outcome(i); outcome {
		case IsAborted:
			w.refused[why]++
			all[p.of].Outcome = serial.Aborted
		case IsUnknown:
			all[p.of].Outcome = serial.Unknown
		}
	}
	for _, a := range all {
		a.ReturnNs, a.Ops = int64(w.now()), slices.Clone(a.Ops)
		if w.attempts = append(w.attempts, a); a.Outcome == serial.Aborted {
			refused = append(refused, a)
		}
	}
	return refused
}

// again gives refused transactions new attempts, which write new values.
func (w *worker) again(all []serial.Attempt) []serial.Attempt {
	for i := range all {
		a := &all[i]
		w.number++
		a.Number, a.Try, a.Ops = uint32(w.number), a.Try+1, slices.Clone(a.Ops)
		for j := range a.Ops {
			o := &a.Ops[j]
			o.Read, o.Version = metrics.NoWrite, 0
			if o.Wrote != metrics.NoWrite {
				w.writes++
				o.Wrote = metrics.MakeWriteID(0, w.id, w.writes)
			}
		}
	}
	return all
}

// work executes some rounds of some transactions.
func (w *worker) work(rounds, transactions, ops int) {
	var all []serial.Attempt
	for range rounds {
		all = w.again(all)
		for len(all) < transactions {
			all = append(all, w.draw(1+w.IntN(ops)))
		}
		if all = w.round(all); w.dead {
			return
		}
	}
}
