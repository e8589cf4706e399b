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
	id       int
	number   uint64
	writes   uint32
	attempts []serial.Attempt
	batches  []kvs.Batch
	replies  []kvs.Reply
	tally    Tally
	refused  map[kvs.Status]int
	age      uint64 // of the round: the time of its oldest transaction's first attempt, and the worker

	halves bool // a fault: it runs the parts of a transaction one by one
	greedy bool // a fault: it commits what voted, though another server refused
	mortal bool // it dies at some time after a vote
	dead   bool
}

func (c *cluster) worker(id int, seed uint64) *worker {
	return &worker{cluster: c, Rand: rand.New(rand.NewPCG(seed, uint64(id))), id: id, batches: make([]kvs.Batch, len(c.tables)), replies: make([]kvs.Reply, len(c.tables)), refused: map[kvs.Status]int{}}
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

// begin empties the batches.
func (w *worker) begin(mark uint64) {
	for i := range w.batches {
		w.batches[i].Begin(kvs.Head{Owner: uint64(w.id), Mark: mark, Age: w.age})
	}
}

// add appends the operations of a transaction that belong to a server.
func (w *worker) add(server int, a *serial.Attempt) {
	for _, o := range a.Ops {
		if w.server(o.Key) != server {
			continue
		}
		var value [16]byte
		binary.LittleEndian.PutUint64(value[:], uint64(o.Wrote))
		switch key := w.keys[o.Key]; {
		case o.Reads && o.Wrote != metrics.NoWrite:
			w.batches[server].Append(kvs.ReadModifyWrite, key, value[:])
		case o.Reads:
			w.batches[server].Get(key)
		default:
			w.batches[server].Append(kvs.Put, key, value[:])
		}
	}
}

// parties returns the servers of a transaction, and how many operations each has.
func (w *worker) parties(a *serial.Attempt) (servers []uint16, ops []int) {
	ops = make([]int, len(w.tables))
	for _, o := range a.Ops {
		ops[w.server(o.Key)]++
	}
	for server, n := range ops {
		if n > 0 {
			servers = append(servers, uint16(server))
		}
	}
	return servers, ops
}

// round executes some transactions, and returns those that were refused.
func (w *worker) round(all []serial.Attempt) (refused []serial.Attempt) {
	if len(all) == 0 {
		return nil
	}
	if all[0].Try == 0 {
		w.age = uint64(w.now())<<8 | uint64(w.id)
	}
	w.begin(uint64(all[0].Number))
	for i := range all {
		all[i].CallNs = int64(w.now())
		parties, ops := w.parties(&all[i])
		step := kvs.Run
		if len(parties) > 1 && !w.halves {
			step = kvs.Prepare
		}
		for _, server := range parties {
			w.batches[server].Part(&kvs.Part{Step: step, Number: uint64(all[i].Number), Parties: parties, Ops: ops[server]})
			w.add(int(server), &all[i])
		}
	}
	no, runs := w.vote(all)
	if w.decide(all, no, runs) {
		return nil
	}
	for i := range all {
		if no[i] {
			refused = append(refused, all[i])
		}
	}
	return refused
}

// vote sends the first round, and reads its answers. It returns which transactions a server
// refused, and which needed no second round.
func (w *worker) vote(all []serial.Attempt) (no, runs []bool) {
	no, runs = make([]bool, len(all)), make([]bool, len(all))
	for server := range w.tables {
		if w.batches[server].Len() == 0 {
			continue
		}
		tally := w.execute(server, &w.batches[server], &w.replies[server])
		w.tally.add(&tally)
		runtime.Gosched()
		results := w.replies[server].Results()
		for i := range all {
			parties, ops := w.parties(&all[i])
			if ops[server] == 0 {
				continue
			}
			answer, err := results.NextAnswer()
			if err != nil {
				w.t.Errorf("worker %d: %v", w.id, err)
				return no, runs
			}
			runs[i] = len(parties) == 1 || w.halves
			if answer.Status != kvs.Done {
				no[i] = true
				w.refused[answer.Status]++
			}
			if !answer.Follows() {
				continue
			}
			w.results(server, &all[i], &answer, &results)
		}
		if err := results.End(); err != nil {
			w.t.Errorf("worker %d: %v", w.id, err)
		}
	}
	return no, runs
}

// results reads what a server returned of a transaction.
func (w *worker) results(server int, a *serial.Attempt, answer *kvs.Answer, results *kvs.Results) {
	for i := range a.Ops {
		o := &a.Ops[i]
		if w.server(o.Key) != server {
			continue
		}
		version, ok := answer.Next()
		result, err := results.Next()
		if !ok || err != nil || result.Read != o.Reads {
			w.t.Errorf("worker %d: a result %+v, version %t, %v", w.id, result, ok, err)
			return
		}
		if o.Version = version; result.Found {
			o.Read = metrics.WriteID(binary.LittleEndian.Uint64(result.Value))
		}
	}
}

// decide sends the second round, and records the outcomes. It reports whether the worker died.
func (w *worker) decide(all []serial.Attempt, no, runs []bool) (died bool) {
	w.begin(uint64(all[0].Number))
	w.dead = w.mortal && w.IntN(4) == 0
	rest := len(all)
	if w.dead {
		rest = w.IntN(len(all) + 1)
	}
	last := len(w.tables) // with this one the death comes between two servers
	if w.dead {
		last = w.IntN(len(w.tables) + 1)
	}
	sent := make([]int, len(w.tables))
	for i := range all[:rest] {
		parties, _ := w.parties(&all[i])
		for _, server := range parties {
			if step := kvs.Abort; !runs[i] && int(server) < last {
				if !no[i] || w.greedy {
					step = kvs.Commit
				}
				w.batches[server].Part(&kvs.Part{Step: step, Number: uint64(all[i].Number)})
				sent[server]++
			}
		}
	}
	acknowledged := make([]bool, len(all))
	for server := range w.tables {
		if sent[server] == 0 {
			continue
		}
		tally := w.execute(server, &w.batches[server], &w.replies[server])
		w.tally.add(&tally)
		runtime.Gosched()
		results := w.replies[server].Results()
		for i := range all[:rest] {
			if _, ops := w.parties(&all[i]); ops[server] > 0 && !runs[i] {
				answer, err := results.NextAnswer()
				if err != nil {
					w.t.Errorf("worker %d: %v", w.id, err)
				}
				acknowledged[i] = acknowledged[i] || answer.Status == kvs.Done && (!no[i] || w.greedy)
			}
		}
	}
	for i := range all {
		w.record(all[i], no[i], runs[i], acknowledged[i])
	}
	return w.dead
}

func (w *worker) record(a serial.Attempt, no, run, acknowledged bool) {
	a.ReturnNs, a.Ops = int64(w.now()), slices.Clone(a.Ops)
	switch {
	case acknowledged || run && !no:
		a.Outcome = serial.Committed
	case no && (run || !w.greedy):
		a.Outcome = serial.Aborted
	default:
		a.Outcome = serial.Unknown
	}
	w.attempts = append(w.attempts, a)
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
