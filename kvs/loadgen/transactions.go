package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/loadgen/timer"
	"kvlab/kvs/loadgen/transact"
	"kvlab/kvs/txn"
	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
	"kvlab/workload/profile"
)

// With -txn a worker makes rounds of transactions in the place of batches. Only what is
// committed counts, at the end of its round, and is then like the reply of each server to a call
// of these operations. A spot is a call of its own between two rounds.

// checkTransactions returns an error that names the first flag that does not go with -txn.
func (c Config) checkTransactions(plan *workload.Plan) error {
	if c.Txn == 0 {
		return nil
	}
	return cmp.Or(
		cli.Want(c.Txn >= 1 && c.Txn <= drawn, "-txn", c.Txn, "1 to %d operations in a transaction, or 0 for none", drawn),
		cli.Want(c.Servers() <= kvs.MaxParties, "-txn", c.Txn, "at most %d servers with it", kvs.MaxParties),
		cli.Want(c.Connections == 0 || c.Connections == c.Workers, "-connections", c.Connections, "0 with -txn, and so one for each worker: a call that waits for a lock would keep another worker's decision from freeing it"),
		cli.Want(!c.Repeat, "-repeat", c.Repeat, "it without -txn: no two attempts of a transaction are equal"),
		cli.Want(!c.Linearizable, "-linearizable", c.Linearizable, "-serializable in its place: it records single operations"),
		cli.Want(!c.Serializable || plan.Share(workload.Delete) == 0, "-serializable", c.Serializable, "a workload without deletes: a read of a key that is not there does not say who deleted it"),
		cli.Want(c.Workload.Replay == "", "-replay", c.Workload.Replay, "it without -txn: a trace has no transactions"),
		cli.Want(!c.AutoBatch, "-batch", "auto", "a number of transactions with -txn"),
		cli.Want(c.BatchBytes == 0, "-batch-bytes", c.BatchBytes, "0 with -txn: -batch is transactions"),
		cli.Want(c.InFlight == 1, "-inflight", c.InFlight, "1 with -txn, and more -workers for more rounds in flight"),
		cli.Want(c.TTL == 0, "-ttl", c.TTL, "it without -txn: keys of a transaction do not expire"),
		cli.Want(plan.Share(workload.Scan) == 0, "-txn", c.Txn, "a workload without scans: a scan locks no keys"),
	)
}

// each returns the number of operations that are drawn together: those of a transaction.
func (c Config) each() int { return max(1, c.Txn) }

// beginTransactions gives the workers what they need for -txn.
func (g *Generator) beginTransactions() error {
	if g.config.Txn == 0 {
		return nil
	}
	c, store, progress := g.config, g.driver.(driver.Transactional), new(atomic.Int64) // its row says so
	for _, w := range g.workers {
		w.progress = progress
		var err error
		if w.transactor, err = store.Transactor(w.conns); err != nil {
			return fmt.Errorf("-txn %d: %w", c.Txn, err)
		}
		w.txn = transact.New(transact.Config{Worker: c.Index*c.Workers + w.id, Workers: c.Clients * c.Workers, Servers: c.Servers(),
			Each: c.Txn, Seed: c.Workload.Seed, Started: started, Writer: w})
	}
	return nil
}

func (w *worker) Locate(id uint64) (key []byte, hash uint64, server int) {
	key, hash = w.keys.key(id)
	return key, hash, w.router.Server(key, hash)
}

func (w *worker) SizeOf(hash uint64) int { return w.sizes.At(hash) }

func (w *worker) Stamp(v []byte, hash uint64) metrics.WriteID {
	w.writer = w.writer.Next()
	w.checker.Key.Put(v, hash, w.writer)
	return w.writer
}

// drawTransactions adds new transactions to a round that begins at a moment, as many as are due
// and may be open: any number in a closed loop, which has no arrivals. It returns when the next
// one is due; never if that is not known yet.
func (w *worker) drawTransactions(r *round, at moment, s schedule, arrivals *workload.Arrivals, course *profile.Course) (next moment) {
	var times [drawn]time.Duration
	w.source.Acknowledge(w.txn.Acknowledged())
	window, until := s.window.Load(), at-r.from
	if window != nil && course != nil {
		arrivals.Follow(course, window.opens-r.from)
		until = min(until, window.closes-r.from-1)
	}
	for n := 1; n > 0 && w.txn.Room() > 0; {
		due := times[:min(w.txn.Room()*w.txn.Each, drawn/w.txn.Each*w.txn.Each, w.source.Left())]
		switch {
		case course != nil:
			n = arrivals.Due(until, due)
			if due = due[:n]; n > 0 {
				w.lastDue = due[n-1]
			}
			if window != nil {
				w.sums.Offered += w.tally.Due(due, window.opens-r.from)
			}
		case s.over(at):
			return never
		default:
			n = len(due)
			for i := range due {
				due[i] = r.begun - r.from
			}
		}
		w.source.Fill(w.block.ops[:n])
		w.txn.Draw(w.block.ops[:n], due, r.from)
	}
	if course == nil || w.txn.Room() == 0 || w.source.Left() == 0 || s.over(r.from+arrivals.Next()) {
		return never
	}
	return r.from + arrivals.Next()
}

// runTransactions makes rounds until no transaction is left. In an open loop it draws those that
// were due for as long as a call may take after the window. It gives up, and leaves some behind,
// when no worker of the client has committed any for so long in the drain: somebody holds a lock
// for ever. A worker of a closed loop that has only refused transactions is in a round while it
// waits for the first of them.
func (w *worker) runTransactions(ctx context.Context, c Config, s schedule, arrivals *workload.Arrivals, course *profile.Course) error {
	clock, err := timer.New(ctx)
	if err != nil {
		return err
	}
	defer clock.Close()
	w.txn.Most = c.Batch
	r, next := &w.rounds[0], moment(0)
	for slept := false; ctx.Err() == nil; {
		at := now()
		if !slept || c.Rate.Open() {
			if r.begin(); w.spotting(s, r.begun) {
				if err := w.readSpot(r, s); err != nil {
					return err
				}
			}
			r.begin()
			if at = r.begun; slept && at >= next {
				r.late = at - next
			}
		}
		if s.over(at-c.CallTimeout) && at-moment(w.progress.Load()) > c.CallTimeout {
			return w.spotRest(s, clock)
		}
		w.txn.Begin(at)
		if next = w.txn.Next(); !s.over(at - c.CallTimeout) {
			next = min(next, w.drawTransactions(r, at, s, arrivals, course))
		}
		none := len(w.txn.Attempts) == 0
		if none && next == never {
			return w.spotRest(s, clock)
		}
		if slept = none; !none {
			if err := w.transact(r, s.at); err != nil {
				return err
			}
			continue
		}
		if err := clock.Sleep(max(1, min(next-at, pollInterval))); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// transact executes the round of transactions, checks and counts what is committed.
func (w *worker) transact(r *round, at phaseAt) error {
	q, sent := w.txn, now()
	if err := q.Execute(w.transactor); err != nil {
		return w.transactError(err)
	}
	r.came = now()
	r.phase, r.window = at(r.begun)
	_, inside := at(r.came)
	w.collect(r)
	calls, ops := uint64(0), uint64(0)
	for i := range r.exchanges {
		x, cost := &r.exchanges[i], &q.Costs[i]
		if cost.Calls == 0 {
			continue
		}
		var checked replyCheck
		x.sent, x.came = r.begun, r.came
		x.call.Sent, x.call.Received = int(cost.Sent), int(cost.Received)
		if err := w.check(x, w.servers[i].NoStore, &checked); err != nil {
			return &CallError{w.servers[i].Name, len(x.kinds), err, i}
		}
		x.call.Sent, x.call.Received = 0, 0
		checked.Calls = cost.Calls
		w.timed(r, x, cost, checked.ByKind(), at)
		w.tallied(i, r, &checked, inside)
		if calls, ops = calls+cost.Calls, ops+checked.Ops(); ops > 0 {
			w.progress.Store(int64(r.came))
		}
	}
	if len(w.committed) > 0 {
		w.rememberCommitted(r)
	}
	w.total(r, calls, ops, r.came, at)
	q.Settle(r.came, r.came-sent, inside != nil)
	return nil
}

// transactError returns the error of a round, which names the server if it is one's.
func (w *worker) transactError(err error) error {
	if of := (*driver.ServerError)(nil); errors.As(err, &of) {
		return &CallError{w.servers[of.Server].Name, len(w.txn.Ops), of.Err, of.Server}
	}
	return fmt.Errorf("a round of %d transactions: %w", len(w.txn.Attempts), err)
}

// collect makes the committed operations of each server, and their results, a reply of it.
func (w *worker) collect(r *round) {
	r.empty()
	for i := range r.exchanges {
		r.exchanges[i].reply.Reset()
	}
	q := w.txn
	w.committed = w.committed[:0]
	for i := range q.Attempts {
		a := &q.Attempts[i]
		if a.Outcome != txn.IsCommitted {
			continue
		}
		due, came := q.Of(i).Due, momentOf(a.Came)
		for k := a.First; k < a.End; k++ {
			x, kind, result := &r.exchanges[q.Places[k]], q.Ops[k].Kind, &q.Results[k]
			x.hashes, x.kinds = append(x.hashes, q.Hashes[k]), append(x.kinds, kind)
			x.due, x.took = append(x.due, due-r.from), append(x.took, due-came)
			x.reply.Append(result.Result)
			if w.audited != nil && (kind.Writes() || kind == kvs.Delete) {
				if number, ok := w.audited.find(q.Hashes[k]); ok {
					w.committed = append(w.committed, transact.Write{Key: number, Version: uint32(q.Wrote[k]), Order: result.Version, Attempt: i})
				}
			}
		}
	}
}

// timed records the latencies of a server's part of a round: those of its committed
// operations, which belong to the phase in which their transactions were due, and the mean of
// those of its calls.
func (w *worker) timed(r *round, x *exchange, cost *driver.Cost, ops latency.Kinds, at phaseAt) {
	calls, last, early := time.Duration(cost.Calls), r.begun, len(x.due)
	if early > 0 {
		last = r.from + x.due[early-1]
	}
	_, inside := at(r.came)
	t := latency.Timing{Peer: x.server, Ops: ops, Inside: inside != nil, Call: cost.Took / calls, Server: cost.Served / calls, Late: r.late}
	r.late = 0 // counts once per round
	w.observe(r, x, &t, at)
	for range cost.Calls - 1 {
		w.recorder.Observe(&latency.Timing{Phase: t.Phase, Peer: t.Peer, Inside: t.Inside, Call: t.Call, Op: t.Call, Server: t.Server})
	}
	if _, window := at(last); window != nil {
		early -= int(after(x.due, window.opens-r.from))
		w.calls.add(t.Call, cost.Calls)
		for i, due := range x.due[early:] {
			w.ops.add(-x.took[early+i], 1)
			w.dues = workload.Dues(w.dues, due)
		}
		w.sums.Ops += uint64(len(x.due) - early)
	}
	if t.Inside && r.window != nil {
		w.sums.Early += uint64(early)
	}
}

// rememberCommitted keeps the round's last writes of audited keys. Where any of several may be
// the last one, the first of them is kept, and the others as writes that it may have replaced.
func (w *worker) rememberCommitted(r *round) {
	acked := w.audited.ticks(r.came) + 1
	for number, all := range transact.Last(w.committed) {
		delete(w.ties, number)
		for i, last := range all {
			sent := w.audited.ticks(momentOf(w.txn.Attempts[last.Attempt].Sent))
			if i == 0 {
				w.last[number] = lastWrite{last.Version, sent, acked}
			} else {
				w.ties[number] = append(w.ties[number], metrics.LostWrite{Key: int32(number), Worker: uint16(w.id), Version: last.Version, Sent: sent, Learned: acked})
			}
		}
	}
}

// transactions returns the counts of all workers, and adds those of each server to a peer.
func (g *Generator) transactions(peers []metrics.PeerCounts) (all *metrics.Transactions) {
	for _, w := range g.workers {
		if w.txn != nil {
			all = w.txn.AddTo(all, peers)
		}
	}
	return all
}
