package loadgen

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"kvlab/metrics"
)

// Measure runs the workload: the warm-up, the window, and the drain. The drain ends the calls
// that are in flight at the window's end and, in an open loop, sends the operations that were
// due in the window. It calls enter at the beginning of each phase. The window of a run that ends
// with its operations closes with the last reply of any client, or after -secs.
func (g *Generator) Measure(ctx context.Context, enter func(metrics.Phase) error) error {
	if err := g.Draw(ctx); err != nil {
		return err
	}
	g.drawn = false // these are sent once
	begin := g.Begins
	if begin.IsZero() {
		begin = time.Now()
	}
	if !wait(ctx, begin) {
		return context.Cause(ctx)
	}
	s, opens := newSchedule(), begin.Add(g.config.WarmUp)
	g.phases.Store(&s)
	switch { // before the first operation
	case g.config.Window > 0 && (g.Settle == nil || g.config.ends()):
		s.decide(opens, opens.Add(g.config.Window), g.edgeSlot())
	case g.config.WarmUp == 0:
		s.decide(opens, time.Time{}, g.edgeSlot())
	}
	for _, w := range g.workers {
		w.pace.begin()
	}
	g.ended = make(chan struct{})
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return g.announce(inner, begin, s, enter) })
	group.Go(func() error {
		err := g.drive(inner, begin, s)
		if err == nil {
			close(g.ended)
		}
		return err
	})
	if err := group.Wait(); err != nil || !g.config.ends() {
		return err
	}
	return g.each(ctx, func(_ context.Context, w *worker) error {
		w.history = nil // it has stopped
		return w.spotRest(s, nil)
	})
}

// drive runs every worker until the schedule ends.
func (g *Generator) drive(ctx context.Context, begin time.Time, s schedule) (err error) {
	if g.slices != nil {
		stop := g.slices.Start(g.Slices, begin, g.Share)
		defer func() { err = cmp.Or(err, stop()) }()
	}
	for _, w := range g.workers {
		w.loaded, w.sums = slices.Clone(w.counts), metrics.Rounds{} // no worker runs
		w.calls, w.ops, w.dues = stamps{}, stamps{}, 0
	}
	if g.config.Rate.Open() {
		return g.driveOpen(ctx, begin, s)
	}
	return g.each(ctx, func(ctx context.Context, w *worker) error {
		defer w.end(now(), s)
		return w.run(ctx, g.config, s)
	})
}

// end keeps when a worker that has sent all of its operations began, and had its last reply.
func (w *worker) end(began moment, s schedule) {
	if window := s.window.Load(); window != nil && w.source.Left() == 0 {
		w.sums.BeginS = (began - window.opens).Seconds()
		for i := range w.rounds {
			w.sums.EndS = max(w.sums.EndS, (w.rounds[i].came - window.opens).Seconds())
		}
	}
}

// leastPhase is longer than the shortest phase of which a node reports an interval.
const leastPhase = 50 * time.Millisecond

// settleEnds returns the length of the window of a run that ends with its operations: until the
// last reply of any client, and at most -secs. It waits until this client's workers have ended,
// and for leastPhase.
func (g *Generator) settleEnds(ctx context.Context) (length time.Duration, err error) {
	if !wait(ctx, time.Now().Add(leastPhase)) {
		return 0, nil
	}
	select {
	case <-g.ended:
	case <-ctx.Done():
		return 0, nil
	}
	last, due, most := moment(1), moment(0), cmp.Or(g.config.Window, never)
	for _, w := range g.workers {
		if last, due = max(last, moment(math.Ceil(1e9*w.sums.EndS))), max(due, w.lastDue); w.source.Left() > 0 {
			last = most // -secs were over
		}
	}
	length = min(last, most)
	if g.Settle != nil {
		if _, length, err = g.Settle(ctx, length); err != nil {
			return 0, fmt.Errorf("end the window: %w", err)
		}
	}
	if g.offered != nil {
		if g.offered.ClosesNs = int64(length); length < most {
			g.offered.DueNs = int64(due)
		}
	}
	return length, nil
}

// announce decides when the window opens and closes, and calls enter at the beginning of
// each phase.
func (g *Generator) announce(ctx context.Context, begin time.Time, s schedule, enter func(metrics.Phase) error) error {
	if err := at(ctx, begin, metrics.WarmUp, enter); err != nil {
		return err
	}
	if g.config.WarmUp == 0 {
		if err := at(ctx, begin, metrics.Window, enter); err != nil {
			return err
		}
	}
	opens, length, err := g.settle(ctx, begin)
	if err != nil {
		return err
	}
	g.opened, g.length = opens, length
	closes := opens.Add(length)
	s.decide(opens, closes, g.edgeSlot())
	if g.config.WarmUp > 0 {
		if err := at(ctx, opens, metrics.Window, enter); err != nil {
			return err
		}
	}
	return at(ctx, closes, metrics.Drain, enter)
}

// edgeSlot returns the slot of the window's boundaryCounts. It follows from -secs, however
// long the window becomes. Without -secs nothing is in flight at the window's end.
func (g *Generator) edgeSlot() time.Duration {
	return metrics.EdgeSlot(cmp.Or(g.config.Window, g.length))
}

// at waits until when and calls enter for a phase. If the context ends first, it does
// not call enter.
func at(ctx context.Context, when time.Time, phase metrics.Phase, enter func(metrics.Phase) error) error {
	if !wait(ctx, when) {
		return nil
	}
	if err := enter(phase); err != nil {
		return fmt.Errorf("enter %s: %w", phase, err)
	}
	return nil
}

// wait waits until when. It reports false if the context ends first.
func wait(ctx context.Context, when time.Time) bool {
	select {
	case <-time.After(time.Until(when)):
		return true
	case <-ctx.Done():
		return false
	}
}

// askLead is the time before the warm-up's end at which settle asks when the window
// opens. It is longer than any launcher takes to answer. Without a warm-up, settle asks in
// the middle of the window.
const askLead = 250 * time.Millisecond

// decideLead is the least time from the decision to the window's opening. No operation of
// the window is sent before all workers know of it.
const decideLead = 20 * time.Millisecond

// settle returns when the window opens and how long it is. Settle says so, and the window
// opens in decideLead at the soonest; without a Settle they are the warm-up's end and -secs.
// In a closed loop it asks when every worker has made WarmUpRounds, or when a round has become
// too long for any window.
func (g *Generator) settle(ctx context.Context, begin time.Time) (opens time.Time, length time.Duration, err error) {
	if g.config.ends() {
		length, err = g.settleEnds(ctx)
		return begin, length, err
	}
	opens, length = begin.Add(g.config.WarmUp), g.config.Window
	ask := opens.Add(-min(askLead, g.config.WarmUp/4))
	if g.config.WarmUp == 0 {
		ask = opens.Add(length / 2)
	}
	if g.Settle == nil || !wait(ctx, ask) {
		return opens, length, nil
	}
	longest := g.longestRound()
	for !g.config.Rate.Open() && !g.warm() && longest < max(metrics.LongestWindow, length)/metrics.WindowRounds && wait(ctx, time.Now().Add(paceEvery)) {
		longest = g.longestRound()
	}
	said, told, err := g.Settle(ctx, longest)
	if err != nil {
		return opens, length, fmt.Errorf("end the warm-up: %w", err)
	}
	length = cmp.Or(told, length)
	soonest := time.Now().Add(decideLead)
	if g.config.WarmUp == 0 { // the window is open; the slots of its end come after the decision
		return opens, max(length, soonest.Sub(opens)+metrics.EdgeSlots*g.edgeSlot()), nil
	}
	if !said.IsZero() {
		opens = said
	}
	if soonest.After(opens) {
		opens = soonest
	}
	return opens, length, nil
}

// Draw draws the first rounds of a closed loop, so that the measurement begins with their
// calls. Measure calls it if nobody has. It draws no transactions.
func (g *Generator) Draw(ctx context.Context) error {
	if g.drawn {
		return nil
	}
	g.drawn, g.config.Batch = true, cmp.Or(g.Batch, g.config.Batch)
	if err := g.prepare(); err != nil || g.config.Rate.OpsPerS > 0 || g.config.Txn > 0 {
		return err
	}
	return g.each(ctx, func(_ context.Context, w *worker) error {
		size := newBatchSize(g.config)
		for i := range w.rounds {
			w.draw(&w.rounds[i], size.Ops(), false)
		}
		return nil
	})
}

// run runs rounds until the schedule ends, with up to len(w.rounds) in flight. A
// server answers the calls of a connection in order, so the operations on one key stay
// in order for any number of rounds.
//
// With -repeat it resends the first ones, without checking the replies:
// it measures the network, both kernels and the codec.
func (w *worker) run(ctx context.Context, c Config, s schedule) error {
	if w.txn != nil {
		return w.runTransactions(ctx, c, s, nil, nil)
	}
	w.repeats = c.Repeat
	size := newBatchSize(c)
	for next := 0; ctx.Err() == nil; next++ {
		r := &w.rounds[next%len(w.rounds)]
		if r.inFlight {
			if err := w.finish(r, s.at); err != nil {
				return err
			}
			size.Learn(r.latency)
		}
		r.begin()
		drawn := next < len(w.rounds) && !r.isEmpty() // by Draw
		if !drawn && (s.over(r.begun) || w.source.Left() == 0) {
			if !slices.ContainsFunc(w.rounds, func(r round) bool { return r.inFlight }) {
				return w.spotRest(s, nil)
			}
			continue // every round is finished in its turn
		}
		if !drawn && !c.Repeat {
			w.draw(r, size.Ops(), w.spotting(s, r.begun))
		}
		w.send(r)
	}
	return context.Cause(ctx)
}

// draw fills a round's batches with the next n operations, or fewer with -batch-bytes. A
// spot takes the place of one operation.
func (w *worker) draw(r *round, n int, spot bool) {
	r.empty()
	w.source.Acknowledge(w.inserted)
	if spot {
		n--
		before := int(w.checker.Random(uint32(n + 1)))
		w.drawOps(r, before)
		w.addSpot(r)
		n -= before
	}
	w.drawOps(r, n)
}

// drawOps adds the next n operations to a round, or fewer with -batch-bytes.
func (w *worker) drawOps(r *round, n int) {
	for left := n; left > 0; {
		n := min(left, drawn, w.room(r), w.source.Left())
		if n == 0 {
			break
		}
		w.fill(w.block.ops[:n])
		w.add(r, w.block.ops[:n])
		left -= n
	}
}
