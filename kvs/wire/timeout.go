package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// ErrTimeout is wrapped by the errors of all calls on a connection that was closed
// because a call got no reply in time.
var ErrTimeout = errors.New("call timed out")

// net/rpc has no deadlines (golang.org/issue/33615). If a single call were abandoned, its
// reply would be decoded into reused memory. Therefore a late call closes the connection,
// which wakes every goroutine that waits for a reply, a write or a writer's lock.
//
// Replies arrive in the order of their calls. A call is late if fewer calls have been
// answered than had been sent one timeout ago. Sender and receiver count the calls; no
// call reads a clock.
//
// A watchdog checks a connection ticks times per timeout, and at least once every
// longTick. A call may end that much later than its timeout.
const (
	ticks    = 16
	longTick = 100 * time.Millisecond
)

// Watch compares the numbers of sent and answered calls once a tick. It calls closeFor
// and returns when a call has waited for timeout, and returns when closed is closed. It
// counts ticks, not time: a stopped process gets one tick for all that it missed.
func Watch(sent, answered *atomic.Uint64, timeout time.Duration, closed <-chan struct{}, closeFor func(error)) {
	tick := min(longTick, max(timeout/ticks, time.Millisecond))
	before := make([]uint64, (timeout+tick-1)/tick) // sent, at each tick of the last timeout
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for i := 0; ; i = (i + 1) % len(before) {
		select {
		case <-ticker.C:
		case <-closed:
			return
		}
		if answered.Load() < before[i] {
			closeFor(fmt.Errorf("%w: no reply within %v", ErrTimeout, timeout))
			return
		}
		before[i] = sent.Load()
	}
}

// closableConn is a connection that is closed with a reason. Every current and later
// Read and Write then returns the reason.
type closableConn struct {
	net.Conn
	ctx context.Context // ends when the connection is closed; its cause is the reason
	end context.CancelCauseFunc
}

// newClosableConn returns a connection that is also closed when ctx ends.
func newClosableConn(ctx context.Context, conn net.Conn) *closableConn {
	c := &closableConn{Conn: conn}
	c.ctx, c.end = context.WithCancelCause(ctx)
	context.AfterFunc(c.ctx, func() { conn.Close() })
	return c
}

// closeFor closes the connection. The first reason is kept.
func (c *closableConn) closeFor(reason error) {
	c.end(reason)
	_ = c.Conn.Close() // the reason says more
}

func (c *closableConn) Close() error {
	err := c.Conn.Close()
	c.end(net.ErrClosed)
	return err
}

// closed returns a channel that is closed with the connection.
func (c *closableConn) closed() <-chan struct{} { return c.ctx.Done() }

func (c *closableConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.cause(err)
}

func (c *closableConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.cause(err)
}

// cause returns the reason in place of an error.
func (c *closableConn) cause(err error) error {
	if err != nil && c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	return err
}

// RequestTimer closes a connection whose client is too slow. It checks once a period,
// so that a request costs two additions and no clock read.
type RequestTimer struct {
	Conn   *closableConn // the connection; its errors say why it was closed
	limits Limits
	period time.Duration
	turns  atomic.Uint64 // odd from a request's first byte to its reply's last

	timer *time.Timer
	seen  uint64        // turns at the last check; only check uses seen and idle
	idle  time.Duration // since the last request
}

// WatchRequests starts to watch a connection; Stop ends it.
func WatchRequests(conn net.Conn, limits Limits) *RequestTimer {
	t := &RequestTimer{Conn: newClosableConn(context.Background(), conn), limits: limits, period: cmp.Or(limits.Request, limits.Idle)}
	if t.period > 0 {
		t.timer = time.AfterFunc(1<<62, t.check)
		t.timer.Reset(t.period) // not before t.timer is set: check resets it
	}
	return t
}

// Stop ends the watch. The connection stays open.
func (t *RequestTimer) Stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// Turn records that a request begins or is answered.
func (t *RequestTimer) Turn() { t.turns.Add(1) }

// check closes the connection if a request, or the pause between two, takes too long.
func (t *RequestTimer) check() {
	turns := t.turns.Load()
	switch inRequest := turns%2 == 1; {
	case turns != t.seen:
		t.seen, t.idle = turns, 0
	case inRequest && t.limits.Request > 0:
		t.Conn.closeFor(fmt.Errorf("%w: a request and its reply take longer than %v (-request-timeout)", errLimit, t.limits.Request))
		return
	default:
		if t.idle += t.period; !inRequest && t.limits.Idle > 0 && t.idle >= t.limits.Idle {
			t.Conn.closeFor(fmt.Errorf("%w: no request for %v (-idle-timeout)", errLimit, t.limits.Idle))
			return
		}
	}
	t.timer.Reset(t.period)
}
