package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
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
	reason atomic.Pointer[error] // the first; nil until the connection is closed
}

// closeFor closes the connection. The first reason is kept.
func (c *closableConn) closeFor(reason error) {
	c.reason.CompareAndSwap(nil, &reason)
	_ = c.Conn.Close() // the reason says more
}

func (c *closableConn) Close() error {
	c.reason.CompareAndSwap(nil, &net.ErrClosed)
	return c.Conn.Close()
}

func (c *closableConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.Cause(err)
}

func (c *closableConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.Cause(err)
}

// Cause returns the reason in place of an error.
func (c *closableConn) Cause(err error) error {
	if err != nil {
		if reason := c.reason.Load(); reason != nil {
			return *reason
		}
	}
	return err
}

// contextConn is a closableConn whose end a context tells.
type contextConn struct {
	closableConn
	ctx context.Context // ends when the connection is closed; its cause is the reason
	end context.CancelCauseFunc
}

// newContextConn returns a connection that is also closed when ctx ends.
func newContextConn(ctx context.Context, conn net.Conn) *contextConn {
	c := &contextConn{closableConn: closableConn{Conn: conn}}
	c.ctx, c.end = context.WithCancelCause(ctx)
	context.AfterFunc(c.ctx, func() { c.closableConn.closeFor(context.Cause(c.ctx)) })
	return c
}

func (c *contextConn) closeFor(reason error) {
	c.end(reason)
	c.closableConn.closeFor(context.Cause(c.ctx))
}

func (c *contextConn) Close() error {
	err := c.closableConn.Close()
	c.end(net.ErrClosed)
	return err
}

// closed returns a channel that is closed with the connection.
func (c *contextConn) closed() <-chan struct{} { return c.ctx.Done() }

// RequestTimer closes a connection whose client is too slow. It checks once a period,
// so that a request costs two additions and no clock read.
type RequestTimer struct {
	Conn closableConn // its errors say why it was closed

	request, pause time.Duration // Limits.Request and Idle
	turns          atomic.Uint64 // odd from a request's first byte to its reply's last

	seen uint64        // turns at the last check; only check uses seen and idle
	idle time.Duration // since the last request
}

// rounds check the RequestTimers of one period together. A time.Timer for each would take
// more memory than the RequestTimer.
var rounds = struct {
	mu sync.Mutex
	of map[time.Duration]round // guarded by mu
}{of: map[time.Duration]round{}}

// round holds the RequestTimers of a period: true after their first tick. It is guarded
// by rounds.mu.
type round map[*RequestTimer]bool

// WatchRequests starts to watch a connection; Stop ends it.
func WatchRequests(conn net.Conn, limits Limits) *RequestTimer {
	t := &RequestTimer{Conn: closableConn{Conn: conn}, request: limits.Request, pause: limits.Idle}
	if period := t.period(); period > 0 {
		rounds.mu.Lock()
		defer rounds.mu.Unlock()
		if rounds.of[period] == nil {
			rounds.of[period] = round{}
			time.AfterFunc(period, func() { tick(period) })
		}
		rounds.of[period][t] = false
	}
	return t
}

func (t *RequestTimer) period() time.Duration { return cmp.Or(t.request, t.pause) }

// tick checks the RequestTimers that are at least a period old. It repeats itself while
// there are any.
func tick(period time.Duration) {
	rounds.mu.Lock()
	if len(rounds.of[period]) == 0 {
		delete(rounds.of, period)
		rounds.mu.Unlock()
		return
	}
	var due []*RequestTimer
	for t, old := range rounds.of[period] {
		if old {
			due = append(due, t)
		} else {
			t.seen, rounds.of[period][t] = t.turns.Load(), true
		}
	}
	rounds.mu.Unlock()
	for _, t := range due {
		t.check()
	}
	time.AfterFunc(period, func() { tick(period) })
}

// Stop ends the watch. The connection stays open.
func (t *RequestTimer) Stop() {
	rounds.mu.Lock()
	defer rounds.mu.Unlock()
	delete(rounds.of[t.period()], t)
}

// Turn records that a request begins or is answered.
func (t *RequestTimer) Turn() { t.turns.Add(1) }

// check closes the connection if a request, or the pause between two, takes too long.
func (t *RequestTimer) check() {
	turns := t.turns.Load()
	switch inRequest := turns%2 == 1; {
	case turns != t.seen:
		t.seen, t.idle = turns, 0
	case inRequest && t.request > 0:
		t.expire(fmt.Errorf("%w: a request and its reply take longer than %v (-request-timeout)", errLimit, t.request))
	default:
		if t.idle += t.period(); !inRequest && t.pause > 0 && t.idle >= t.pause {
			t.expire(fmt.Errorf("%w: no request for %v (-idle-timeout)", errLimit, t.pause))
		}
	}
}

// expire closes the connection. Close can wait for a call of the connection, and the
// connections that are checked next do not.
func (t *RequestTimer) expire(reason error) {
	if t.Conn.reason.CompareAndSwap(nil, &reason) {
		go t.Conn.Conn.Close()
	}
}
