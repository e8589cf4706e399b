package trial

import (
	"context"

	"kvlab/metrics"
)

// Barrier is one trial's end of the barriers of a pair, two trials that run at the
// same time. There are two: after the preflight, before anything starts on the nodes,
// and after the load, so that both windows are the same stretch of time. The nil
// barrier is that of a trial that runs alone.
type Barrier struct {
	own   chan<- struct{} // has a value for each barrier at which the trial has arrived; closed when it has ended
	other <-chan struct{} // likewise, of the other trial
}

// NewBarriers returns the two ends.
func NewBarriers() [2]*Barrier {
	a, b := make(chan struct{}, 2), make(chan struct{}, 2)
	return [2]*Barrier{{a, b}, {b, a}}
}

// arrive marks this trial at the next barrier. The channel is ready when the other
// trial arrives there or ends.
func (b *Barrier) arrive() <-chan struct{} {
	b.own <- struct{}{}
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
	case <-b.arrive():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waitLoaded waits until the other trial's store is loaded too. The steps of that
// trial have timeouts, so this one needs none.
func (c *Controller) waitLoaded(ctx context.Context) error {
	if c.Barrier == nil {
		return nil
	}
	return c.listen(ctx, c.Barrier.arrive(), unlimited, loaded, func() *process { return c.of(metrics.Client)[0] })
}
