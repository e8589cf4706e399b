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
	own, other []chan struct{} // one for each barrier: closed when the trial has arrived there, or has ended
	next       int             // the barrier at which this trial arrives next
}

// NewBarriers returns the two ends.
func NewBarriers() [2]*Barrier {
	var ends [2][]chan struct{}
	for i := range ends {
		ends[i] = []chan struct{}{make(chan struct{}), make(chan struct{})}
	}
	return [2]*Barrier{{own: ends[0], other: ends[1]}, {own: ends[1], other: ends[0]}}
}

// arrive marks this trial at the next barrier. The channel closes when the other
// trial arrives there or ends.
func (b *Barrier) arrive() <-chan struct{} {
	at := b.next
	b.next++
	close(b.own[at])
	return b.other[at]
}

// Drop marks this trial as ended: the other trial no longer waits for it.
func (b *Barrier) Drop() {
	if b == nil {
		return
	}
	for ; b.next < len(b.own); b.next++ {
		close(b.own[b.next])
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
