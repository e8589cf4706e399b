package loadgen

import (
	"context"
	"fmt"
	"time"

	"kvlab/metrics"
)

// schedule is when the phases of a measurement begin.
type schedule struct {
	opens  time.Time // warm-up ends, the window opens
	closes time.Time // the window closes
	ends   time.Time // no round begins any more: when it closes, or at the end of a probe
}

// at is the phase that a reply belongs to by the time when it came.
func (s schedule) at(t time.Time) metrics.Phase {
	switch {
	case t.Before(s.opens):
		return metrics.WarmUp
	case t.Before(s.closes):
		return metrics.Window
	}
	return metrics.Drain
}

// Measure runs the workload: warm-up, window, and the calls still under way at
// its end. enter is called as each phase begins.
func (g *Generator) Measure(ctx context.Context, enter func(metrics.Phase) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	now := time.Now()
	s := schedule{opens: now.Add(g.config.WarmUp), closes: now.Add(g.config.WarmUp + g.config.Window)}
	s.ends = s.closes
	g.opened = s.opens
	announced := make(chan struct{})
	go func() {
		defer close(announced)
		if err := s.announce(ctx, enter); err != nil {
			cancel(err)
		}
	}()
	err := g.drive(ctx, now, s)
	if err != nil {
		cancel(err)
	}
	<-announced
	return err
}

// drive has every worker run from now until the schedule ends.
func (g *Generator) drive(ctx context.Context, now time.Time, s schedule) error {
	if g.config.Rate.Open() {
		return g.driveOpen(ctx, now, s)
	}
	return g.each(ctx, func(ctx context.Context, w *worker) error { return w.run(ctx, g.config, s) })
}

// announce calls enter at the beginning of each phase.
func (s schedule) announce(ctx context.Context, enter func(metrics.Phase) error) error {
	for _, step := range []struct {
		at    time.Time
		phase metrics.Phase
	}{{time.Now(), metrics.WarmUp}, {s.opens, metrics.Window}, {s.closes, metrics.Drain}} {
		timer := time.NewTimer(time.Until(step.at))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		if err := enter(step.phase); err != nil {
			return fmt.Errorf("enter %s: %w", step.phase, err)
		}
	}
	return nil
}

// run goes round until the schedule ends, with up to len(w.rounds) rounds under
// way. A server answers the calls of a connection in order, so the order of
// operations on one key is kept however many there are.
func (w *worker) run(ctx context.Context, c Config, s schedule) error {
	adapt := newBatching(c)
	size, batch := c.Batch, 1.0 // operations to every server, on average; batch is for -batch auto
	if c.AutoBatch {
		size = int(batch)
	}
	next := 0
	for ; ctx.Err() == nil; next++ {
		r := &w.rounds[next%len(w.rounds)]
		if r.underway {
			if err := w.finish(r, s.at); err != nil {
				return err
			}
			if c.AutoBatch {
				batch = adapt.next(batch, r.latency)
				size = int(batch)
			}
		}
		r.begin()
		if !r.begun.Before(s.ends) {
			return w.drain(next, s)
		}
		for left := size * c.Servers(); left > 0; {
			n := min(left, drawn)
			w.source.Fill(w.block.ops[:n])
			w.add(r, w.block.ops[:n])
			left -= n
		}
		w.send(r)
	}
	return context.Cause(ctx)
}

// drain takes in what is under way, the oldest round first, given the number of
// the round that would have come next.
func (w *worker) drain(next int, s schedule) error {
	for i := range w.rounds {
		if r := &w.rounds[(next+i)%len(w.rounds)]; r.underway {
			if err := w.finish(r, s.at); err != nil {
				return err
			}
		}
	}
	return nil
}
