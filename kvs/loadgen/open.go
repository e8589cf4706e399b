package loadgen

import (
	"context"
	"fmt"
	"slices"
	"time"

	"kvlab/kvs/loadgen/timer"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/profile"
)

// driveOpen runs every worker of an open loop until the schedule ends. If the rate is a share
// of the peak, the first half of the warm-up measures the peak, and the open loop begins after
// it.
func (g *Generator) driveOpen(ctx context.Context, begin time.Time, s schedule) error {
	c := g.config
	rate, peak := c.Rate.OpsPerS, 0.0
	if c.Rate.Share > 0 {
		var err error
		if peak, err = g.probe(ctx, begin, s); err != nil {
			return err
		}
		rate, begin = c.Rate.Share*peak*float64(c.Clients), begin.Add(c.WarmUp/2)
	}
	course := c.Rate.Course(rate)
	err := g.each(ctx, func(ctx context.Context, w *worker) error {
		defer w.end(now(), s)
		return w.runOpen(ctx, c, momentOf(begin), s, course)
	})
	g.offered = &metrics.Offered{Arrivals: c.Arrivals, OpsPerS: rate / float64(c.Clients), PeakOpsPerS: peak, RunOpsPerS: rate}
	if window := s.window.Load(); window != nil {
		g.offered.OpensNs, g.offered.ClosesNs = int64(window.opens-momentOf(begin)), int64(window.closes-momentOf(begin))
	}
	all := c.Rate.NewTally()
	for _, w := range g.workers {
		g.offered.Ops += w.sums.Offered
		all.Add(w.tally)
	}
	g.offered.Stages = all.Stages()
	return err
}

// probe returns the throughput of this client's closed loop, in operations per second.
// It measures in the second quarter of the warm-up.
func (g *Generator) probe(ctx context.Context, begin time.Time, s schedule) (float64, error) {
	var before uint64
	var from time.Time
	fast := make(chan struct{})
	time.AfterFunc(time.Until(begin.Add(g.config.WarmUp/4)), func() {
		before, from = g.Counts().Ops(), time.Now()
		close(fast)
	})
	s.until = momentOf(begin.Add(g.config.WarmUp / 2))
	err := g.each(ctx, func(ctx context.Context, w *worker) error { return w.run(ctx, g.config, s) })
	if err != nil {
		return 0, err
	}
	<-fast
	peak := float64(g.Counts().Ops()-before) / time.Since(from).Seconds()
	if !(peak > 0) {
		return 0, fmt.Errorf("-rate %s: the closed loop made no operation in the second quarter of a warm-up of %v: want a longer -warmup", g.config.Rate, g.config.WarmUp)
	}
	return peak, nil
}

// pollInterval is a worker's longest sleep until the end of the window is decided.
const pollInterval = 100 * time.Millisecond

// runOpen sends operations when they are due. One round has all operations that are
// due, up to a batch. Operations that become due while the worker waits for replies go
// into a later round; their latency counts from their due time. When the window has
// closed, the worker sends the operations that were due in it, for as long as a call may
// take; what it has not sent then is offered and not achieved. The operations are due at the
// course's first rate until the window opens.
func (w *worker) runOpen(ctx context.Context, c Config, begin moment, s schedule, course *profile.Course) error {
	arrivals := w.plan.Arrivals(c.Arrivals, course.First(), c.place(w.id))
	arrivals.Together(c.each())
	defer func() { w.offer(arrivals, begin, s) }()
	w.tally = c.Rate.NewTally()
	r := &w.rounds[0]
	r.from = begin
	if w.txn != nil {
		return w.runTransactions(ctx, c, s, arrivals, course)
	}
	clock, err := timer.New(ctx)
	if err != nil {
		return err
	}
	defer clock.Close()
	size := newBatchSize(c)
	for ctx.Err() == nil {
		r.begin()
		r.empty()
		if window := s.window.Load(); window != nil { // it opens later
			arrivals.Follow(course, window.opens-begin)
		}
		next := begin + arrivals.Next()
		if s.over(next) || s.over(r.begun-c.CallTimeout) || w.source.Left() == 0 {
			return w.spotRest(s, clock)
		}
		if next > r.begun {
			pause := next - r.begun
			if !s.decided() {
				pause = min(pause, pollInterval)
			}
			if err := clock.Sleep(pause); err != nil {
				return err
			}
			if r.begun = now(); r.begun < next {
				continue // the window may close before then, or the context has ended
			}
			r.late = r.begun - next
		}
		n := w.addDue(r, arrivals, size.Ops(), s)
		w.send(r)
		if err := w.finish(r, s.at); err != nil {
			return err
		}
		if n == size.Ops() {
			size.Learn(r.latency)
		}
	}
	return context.Cause(ctx)
}

// Stage returns the number of the stage of -rate, from 1, in which a stretch of time by Clock lies;
// 0 if it lies in none.
func (g *Generator) Stage(from, to time.Duration) int {
	if s := g.phases.Load(); s != nil {
		if _, window := s.at(from); window != nil && to < window.closes {
			return g.config.Rate.Stage(from-window.opens, to-window.opens)
		}
	}
	return 0
}

// addDue puts up to most due operations into the round's batches and returns their
// number. Until the window is decided, no due operation is in it. A spot takes the place of
// one.
func (w *worker) addDue(r *round, arrivals *workload.Arrivals, most int, s schedule) int {
	var due [drawn]time.Duration
	now, added := r.begun-r.from, 0
	spot := w.spotting(s, r.begun)
	if spot {
		most--
	}
	if most == 0 {
		x := w.addSpot(r)
		x.due = append(x.due, now)
	}
	w.source.Acknowledge(w.inserted)
	window := s.window.Load()
	if window != nil {
		now = min(now, window.closes-r.from-1)
	}
	for added < most {
		n := arrivals.Due(now, due[:min(most-added, drawn, w.room(r))])
		if n == 0 {
			break
		}
		w.fill(w.block.ops[:n])
		before := 0
		if spot {
			spot, before = false, int(w.checker.Random(uint32(n+1)))
			w.addEach(r, w.block.ops[:before], due[:before])
			x := w.addSpot(r)
			x.due = append(x.due, due[min(before, n-1)])
		}
		w.addEach(r, w.block.ops[before:n], due[before:n])
		if window != nil {
			w.sums.Offered += w.tally.Due(due[:n], window.opens-r.from)
		}
		w.lastDue = due[n-1]
		added += n
	}
	return added
}

// addEach adds operations as add does, and records each operation's due time in its exchange,
// and a scan's in all exchanges.
func (w *worker) addEach(r *round, ops []workload.Op, due []time.Duration) {
	w.add(r, ops)
	for i := range ops {
		first, last := w.block.owners[i], w.block.owners[i]
		if ops[i].Kind == workload.Scan {
			first, last = 0, uint32(len(r.exchanges)-1)
		}
		for owner := first; owner <= last; owner++ {
			x := &r.exchanges[owner]
			x.due = append(x.due, due[i])
		}
	}
}

// after counts the times not before from. due is sorted.
func after(due []time.Duration, from time.Duration) uint64 {
	first, _ := slices.BinarySearch(due, from)
	return uint64(len(due) - first)
}

// offer counts the unsent operations that were due in the window.
func (w *worker) offer(arrivals *workload.Arrivals, begin moment, s schedule) {
	var due [drawn]time.Duration
	window := s.window.Load()
	for n := len(due); s.decided() && n == len(due); {
		n = arrivals.Due(window.closes-begin-1, due[:])
		w.sums.Offered += w.tally.Due(due[:n], window.opens-begin)
	}
}
