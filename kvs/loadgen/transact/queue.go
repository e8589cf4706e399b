// Package transact keeps the transactions of one worker from their drawing to their commit.
//
// A transaction is some consecutive operations of the worker's stream. It is tried until it is
// committed, always with the same operations, and each time with new values: no two attempts
// write the same value, so a value names the attempt that wrote it. A refused transaction waits
// for a random time that grows with its attempts, and then joins a round.
package transact

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/txn"
	"kvlab/metrics"
	"kvlab/workload"
)

// Transaction is a transaction that is drawn and not yet committed.
type Transaction struct {
	Number uint32        // among its worker's, from 1
	Tries  int           // its attempts, with the one of the round
	Due    time.Duration // when it was due; in a closed loop, when its first round began
	Ops    []workload.Op

	ready   time.Duration // no attempt begins before
	inserts uint64        // of the stream before its operations
}

// Queue holds the open transactions of a worker, and its round. It belongs to one goroutine.
type Queue struct {
	Round
	Peers    []metrics.TransactionTally // by server, what is committed there
	Recorder Recorder                   // nil for none
	Most     int                        // transactions that may be open at a time

	Config
	random  *rand.Rand
	waiting []*Transaction  // refused, by number
	taken   map[uint64]bool // records of the round's transactions that were refused before, and whether one writes it
	size    int             // how many may be open now
	free    []*Transaction

	drawn        uint32
	inserts      uint64 // of the drawn transactions
	acknowledged uint64

	total, window counts
}

// Config says whose transactions a Queue holds. They differ from worker to worker.
type Config struct {
	Worker, Workers int // its number, and the number of workers, of all clients
	Servers         int
	Each            int // operations of a transaction
	Seed            uint64
	Started         time.Time // the origin of all times
	Writer          Writer
}

// Recorder is told of each attempt.
type Recorder interface {
	// Attempt tells the outcome of attempt i of a round. What the round holds is valid until
	// Attempt returns.
	Attempt(r *Round, i int)
}

// New returns a queue without transactions.
func New(c Config) *Queue {
	return &Queue{Config: c, size: 1, Round: Round{writer: c.Writer}, taken: make(map[uint64]bool), Peers: make([]metrics.TransactionTally, c.Servers),
		random: rand.New(rand.NewPCG(c.Seed, uint64(c.Worker)))}
}

// Begin begins a round at a time with those of the refused transactions whose back-off is over,
// the oldest first. The locks of a round are held together, so one that an earlier one of these
// would refuse stays for a later round: the writers of a popular key, which are soon all that is
// open, would hold its lock for as long as the others take to be refused.
func (q *Queue) Begin(now time.Duration) {
	q.empty()
	clear(q.taken)
	left := q.waiting[:0]
	for _, t := range q.waiting {
		if t.ready > now || !q.admit(t) {
			left = append(left, t)
		} else {
			q.attempt(t)
		}
	}
	q.waiting = left
}

// admit notes the records of a refused transaction that joins the round; false if an earlier one
// has one of them, and not both read it.
func (q *Queue) admit(t *Transaction) bool {
	for _, op := range t.Ops {
		if writes, is := q.taken[op.Key]; is && (writes || op.Kind != workload.Read) {
			return false
		}
	}
	for _, op := range t.Ops {
		q.taken[op.Key] = q.taken[op.Key] || op.Kind != workload.Read
	}
	return true
}

// Room returns how many more transactions may be drawn in the round. Those that wait are open
// too.
func (q *Queue) Room() int { return max(0, q.size-len(q.Attempts)-len(q.waiting)) }

// adapt sets how many transactions may be open. Locks are held for a round, and a large one takes
// long, which bounds the commits of a popular key: where more than a quarter of a round is
// refused, half as many are open, and where at most a tenth is, an eighth more.
func (q *Queue) adapt(refused int) {
	switch attempts := len(q.Attempts); {
	case 4*refused > attempts:
		q.size = max(1, q.size/2)
	case 10*refused <= attempts:
		q.size = min(q.Most, q.size+1+q.size/8)
	}
}

// Draw adds new transactions to the round, each of Each operations but perhaps the last one. The
// due times of the operations, after a time, are no earlier than those that were drawn before.
func (q *Queue) Draw(ops []workload.Op, due []time.Duration, after time.Duration) {
	for at := 0; at < len(ops); at += q.Each {
		q.draw(ops[at:min(at+q.Each, len(ops))], after+due[at])
	}
}

// draw adds a transaction to the round, with a copy of its operations.
func (q *Queue) draw(ops []workload.Op, due time.Duration) {
	if len(q.free) == 0 {
		q.free = append(q.free, new(Transaction))
	}
	n := len(q.free) - 1
	t := q.free[n]
	q.free = q.free[:n]
	q.drawn++
	*t = Transaction{Number: q.drawn, Due: due, Ops: append(t.Ops[:0], ops...), inserts: q.inserts}
	for _, op := range ops {
		if op.Kind == workload.Insert {
			q.inserts++
		}
	}
	q.attempt(t)
}

// attempt adds an attempt of a transaction to the round.
func (q *Queue) attempt(t *Transaction) {
	q.total.attempts++
	q.add(t)
}

// Acknowledged returns how many of the first inserts that were drawn are committed.
func (q *Queue) Acknowledged() uint64 { return q.acknowledged }

// Next returns when the first back-off is over; math.MaxInt64 without a refused transaction.
func (q *Queue) Next() time.Duration {
	next := time.Duration(math.MaxInt64)
	for _, t := range q.waiting {
		next = min(next, t.ready)
	}
	return next
}

// Execute executes the round. After an error the outcomes of some attempts are unknown, and the
// round is settled.
func (q *Queue) Execute(by driver.Transactor) error {
	q.Age = q.age(q.open[0].Due)
	err := by.Transact(&q.Transactions)
	unknown := 0
	for i := range q.Attempts {
		a := &q.Attempts[i]
		if err != nil {
			a.Outcome = txn.IsUnknown
		}
		if a.Outcome == txn.IsUnknown {
			unknown++
		}
	}
	if unknown == 0 {
		return nil
	}
	q.Settle(0, 0, false)
	return cmp.Or(err, fmt.Errorf("%d of %d transactions have no outcome: the store does not tell whether it has committed them", unknown, len(q.Attempts)))
}

// age returns the age of what was due at a time. Its last bits are the worker's number, so no
// other worker's is equal.
func (q *Queue) age(due time.Duration) uint64 {
	width := bits.Len(uint(q.Workers - 1))
	return uint64(q.Started.UnixNano()+int64(due))>>width<<width | uint64(q.Worker)
}

// Settle counts the attempts of an executed round, which took some time and ended now, in the
// window or not. Those that were aborted wait for their next attempt.
func (q *Queue) Settle(now, took time.Duration, inside bool) {
	refused := 0
	for i, t := range q.open {
		a := &q.Attempts[i]
		parties := 0
		if a.Outcome == txn.IsCommitted {
			parties = q.committed(i)
		}
		q.total.add(a, t.Tries, parties)
		if inside {
			q.window.attempts++
			q.window.add(a, t.Tries, parties)
		}
		if q.Recorder != nil {
			q.Recorder.Attempt(&q.Round, i)
		}
		if a.Outcome == txn.IsAborted {
			t.ready = now + q.backOff(t.Tries, took)
			q.waiting = append(q.waiting, t)
			refused++
		} else {
			q.free = append(q.free, t)
		}
	}
	q.adapt(refused)
	slices.SortFunc(q.waiting, func(t, u *Transaction) int { return int(t.Number) - int(u.Number) })
	if q.acknowledged = q.inserts; len(q.waiting) > 0 {
		q.acknowledged = q.waiting[0].inserts
	}
}

// Batch is the default of Most. On one server no lock outlives a call, and larger rounds make no
// more. With two servers and YCSB-A, theta 0.99, 256 were open at once without adapt, and some
// were never committed; with it, 17,000 operations a second were made on two busy cores.
const Batch = 256

// mostDoublings bounds the back-off to 8 rounds.
const mostDoublings = 3

// backOff returns how long a transaction waits after some attempts, the last of which was in a
// round that took some time: a random part of 2, 4, 8, ... such rounds. Whoever holds its locks
// holds them for about a round.
func (q *Queue) backOff(tries int, took time.Duration) time.Duration {
	return time.Duration(q.random.Float64() * float64(took) * float64(uint(1)<<min(tries, mostDoublings)))
}

// committed counts a committed attempt by server, and returns how many it touched.
func (q *Queue) committed(i int) (parties int) {
	a := &q.Attempts[i]
	places := q.Places[a.First:a.End]
	for k, server := range places {
		if !slices.Contains(places[:k], server) {
			parties++
			q.Peers[server].Parts++
		}
	}
	if parties == 1 {
		q.Peers[places[0]].Parts--
		q.Peers[places[0]].Runs++
	}
	return parties
}

// AddTo adds the counts of the attempts to those of other workers, nil for none, and what is
// committed at each server to a peer.
func (q *Queue) AddTo(all *metrics.Transactions, peers []metrics.PeerCounts) *metrics.Transactions {
	if all == nil {
		all = new(metrics.Transactions)
	}
	all.Total, all.Window = all.Total.Add(q.total.record()), all.Window.Add(q.window.record())
	for _, t := range q.waiting {
		all.Behind += uint64(len(t.Ops))
	}
	for i, peer := range q.Peers {
		t := &peers[i].Transactions
		t.Runs, t.Parts = t.Runs+peer.Runs, t.Parts+peer.Parts
	}
	return all
}

// counts are metrics.TransactionCounts while they grow.
type counts struct {
	attempts, commits, unknown, single, cross, parts, ops uint64

	aborts  [kvs.Absent + 1]uint64
	retries [bits.UintSize + 2]uint64
}

// add counts the outcome of an attempt, which a commit needed some tries for and some servers.
func (c *counts) add(a *driver.Attempt, tries, parties int) {
	switch a.Outcome {
	case txn.IsAborted:
		c.aborts[a.Why]++
	case txn.IsUnknown:
		c.unknown++
	default:
		c.commits, c.ops = c.commits+1, c.ops+uint64(a.End-a.First)
		c.retries[metrics.AttemptsSlot(tries)]++
		if parties == 1 {
			c.single++
		} else {
			c.cross, c.parts = c.cross+1, c.parts+uint64(parties)
		}
	}
}

func (c *counts) record() metrics.TransactionCounts {
	r := metrics.TransactionCounts{Attempts: c.attempts, Commits: c.commits, Unknown: c.unknown, Single: c.single, Cross: c.cross, Parts: c.parts, Ops: c.ops}
	for why, n := range c.aborts {
		if n > 0 {
			if r.Aborts == nil {
				r.Aborts = make(map[string]uint64)
			}
			r.Aborts[kvs.Status(why).String()] = n
		}
	}
	last := len(c.retries)
	for last > 0 && c.retries[last-1] == 0 {
		last--
	}
	r.Retries = slices.Clone(c.retries[:last])
	return r
}
