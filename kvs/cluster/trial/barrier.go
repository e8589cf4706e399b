package trial

import (
	"context"

	"kvlab/metrics"
)

// Barrier is one trial's end of the barriers of a pair: two trials that run at the same time.
// There are three barriers. The first is after the preflight, before anything starts on the
// nodes. The second is after the load. The third is before the window: both trials agree on
// its time, so that both windows are the same stretch of time. A trial that runs alone has a
// nil barrier.
type Barrier struct {
	own   chan<- opening // has a value for each barrier at which the trial has arrived; closed when it has ended
	other <-chan opening // likewise, of the other trial
}

// NewBarriers returns the two ends.
func NewBarriers() [2]*Barrier {
	a, b := make(chan opening, 3), make(chan opening, 3)
	return [2]*Barrier{{a, b}, {b, a}}
}

// arrive marks this trial at the next barrier, with its wish for the window. The channel
// receives the wish of the other trial when it arrives there, or zero when it has ended.
func (b *Barrier) arrive(wish opening) <-chan opening {
	b.own <- wish
	return b.other
}

// Drop marks this trial as ended: the other trial no longer waits for it.
func (b *Barrier) Drop() {
	if b != nil {
		close(b.own)
	}
}

// Wait arrives and waits until the other trial does too, or ctx ends.
func (b *Barrier) Wait(ctx context.Context) error {
	if b == nil {
		return nil
	}
	select {
	case <-b.arrive(opening{}):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitLoaded waits until the other trial has loaded its store and drawn its first rounds. The
// other trial's steps have timeouts, so this wait needs none.
func (c *Controller) waitLoaded(ctx context.Context) error {
	if c.Barrier == nil {
		return nil
	}
	return c.listen(ctx, c.Barrier.arrive(opening{}), unlimited, drawn, func() *process { return c.of(metrics.Client)[0] })
}
