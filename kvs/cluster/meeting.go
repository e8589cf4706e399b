package cluster

import (
	"context"

	"kvlab/metrics"
)

// meeting is one side of two trials that are made at the same time. Each trial waits
// for the other at two points: when the nodes have been looked at, before anything
// starts on them, and when its store is loaded, so that both windows are the same
// stretch of time. A nil meeting is that of a trial that is made alone.
type meeting struct {
	own, other []chan struct{} // one for each point: closed when the trial has come there, or has ended
	next       int             // the point that this trial comes to next
}

// newMeetings are the two sides of one meeting.
func newMeetings() [2]*meeting {
	var points [2][]chan struct{}
	for i := range points {
		points[i] = []chan struct{}{make(chan struct{}), make(chan struct{})}
	}
	return [2]*meeting{{own: points[0], other: points[1]}, {own: points[1], other: points[0]}}
}

// come says that this trial has come to its next point, and returns what is closed
// when the other has.
func (m *meeting) come() <-chan struct{} {
	at := m.next
	m.next++
	close(m.own[at])
	return m.other[at]
}

// leave says that this trial has ended: nobody waits for it any more.
func (m *meeting) leave() {
	if m == nil {
		return
	}
	for ; m.next < len(m.own); m.next++ {
		close(m.own[m.next])
	}
}

// prepared waits until the other trial has looked at the nodes too, or ctx ends.
func (m *meeting) prepared(ctx context.Context) error {
	if m == nil {
		return nil
	}
	select {
	case <-m.come():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// meet waits until the other trial's store is loaded too. Its own steps have limits,
// so that this needs none.
func (c *conductor) meet(ctx context.Context) error {
	if c.meeting == nil {
		return nil
	}
	over := c.meeting.come()
	return c.listen(ctx, over, unlimited, loaded, func() *member { return c.of(metrics.Client)[0] })
}
