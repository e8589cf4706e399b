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
	own, other []chan struct{} // of the barriers ahead: closed when the trial has arrived there, or has ended
}

// NewBarriers returns the two ends.
func NewBarriers() [2]*Barrier {
	var ends [2][]chan struct{}
	for i := range ends {
		ends[i] = []chan struct{}{make(chan struct{}), make(chan struct{})}
	}
	return [2]*Barrier{{ends[0], ends[1]}, {ends[1], ends[0]}}
}

// arrive marks this trial at the next barrier. The channel closes when the other
// trial arrives there or ends.
func (b *Barrier) arrive() <-chan struct{} {
	close(b.own[0])
	other := b.other[0]
	b.own, b.other = b.own[1:], b.other[1:]
	return other
}

// Drop marks this trial as ended: the other trial no longer waits for it.
func (b *Barrier) Drop() {
	for b != nil && len(b.own) > 0 {
		b.arrive()
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
	over := c.Barrier.arrive()
	return c.listen(ctx, over, unlimited, loaded, func() *process { return c.of(metrics.Client)[0] })
}
