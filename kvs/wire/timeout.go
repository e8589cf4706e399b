package wire

import (
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"sync"
	"sync/atomic"
	"time"
)

// ErrTimeout is wrapped by the errors of all calls on a connection that was closed
// because a call got no reply in time.
var ErrTimeout = errors.New("call timed out")

// A watchdog checks a connection ticks times per timeout, and at least once every
// longTick. A call may end that much later than its timeout.
const (
	ticks    = 16
	longTick = 100 * time.Millisecond
)

// timeoutCodec is a client's codec with a limit on the time of a call. net/rpc has no
// deadlines (golang.org/issue/33615). If a single call were abandoned, its reply would
// be decoded into reused memory. Therefore a late call closes the connection, which
// wakes every goroutine that waits for a reply, a write or a writer's lock.
//
// Replies arrive in the order of their calls. A call is late if fewer calls have been
// answered than had been sent one timeout ago. Sender and receiver count the calls; no
// call reads a clock.
type timeoutCodec struct {
	rpc.ClientCodec
	sent     atomic.Uint64 // calls
	answered atomic.Uint64
	reading  uint64 // the call whose reply is being read, counted from 1
	closed   chan struct{}
	close    sync.Once
}

// newTimeoutCodec starts a goroutine that ends with Close. With a timeout of 0 it
// returns codec itself.
func newTimeoutCodec(codec rpc.ClientCodec, conn *closableConn, timeout time.Duration) rpc.ClientCodec {
	if timeout <= 0 {
		return codec
	}
	c := &timeoutCodec{ClientCodec: codec, closed: make(chan struct{})}
	go watchdog(&c.sent, &c.answered, timeout, c.closed, func() { conn.closeFor(timeoutError(timeout)) })
	return c
}

func timeoutError(timeout time.Duration) error {
	return fmt.Errorf("%w: no reply within %v", ErrTimeout, timeout)
}

// watchdog compares the numbers of sent and answered calls once a tick. It calls giveUp
// and returns when a call has waited for timeout, and returns when closed is closed. It
// counts ticks, not time: a stopped process gets one tick for all that it missed.
func watchdog(sent, answered *atomic.Uint64, timeout time.Duration, closed <-chan struct{}, giveUp func()) {
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
			giveUp()
			return
		}
		before[i] = sent.Load()
	}
}

func (c *timeoutCodec) WriteRequest(r *rpc.Request, body any) error {
	c.sent.Store(r.Seq + 1) // before the write, which may be what hangs
	return c.ClientCodec.WriteRequest(r, body)
}

func (c *timeoutCodec) ReadResponseHeader(r *rpc.Response) error {
	err := c.ClientCodec.ReadResponseHeader(r)
	c.reading = r.Seq + 1
	return err
}

func (c *timeoutCodec) ReadResponseBody(body any) error {
	err := c.ClientCodec.ReadResponseBody(body)
	c.answered.Store(c.reading)
	return err
}

func (c *timeoutCodec) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.ClientCodec.Close()
}

// closableConn is a connection that is closed with a reason. Every current and later
// Read and Write then returns the reason.
type closableConn struct {
	net.Conn
	reason atomic.Pointer[error]
}

// closeFor closes the connection. The first reason is kept.
func (c *closableConn) closeFor(reason error) {
	c.reason.CompareAndSwap(nil, &reason)
	_ = c.Conn.Close() // the reason says more
}

func (c *closableConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, c.cause(err)
}

func (c *closableConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.cause(err)
}

func (c *closableConn) cause(err error) error {
	if err != nil {
		if reason := c.reason.Load(); reason != nil {
			return *reason
		}
	}
	return err
}

// requestTimer closes a connection whose client is too slow. It checks once a period,
// so that a request costs two additions and no clock read.
type requestTimer struct {
	conn    net.Conn
	limits  Limits
	period  time.Duration
	turns   atomic.Uint64 // odd from a request's first byte to its reply's last
	expired atomic.Pointer[error]

	timer *time.Timer
	seen  uint64        // turns at the last check; only check uses seen and idle
	idle  time.Duration // since the last request
}

// newRequestTimer starts to watch a connection; stop ends it.
func newRequestTimer(conn net.Conn, limits Limits) *requestTimer {
	t := &requestTimer{conn: conn, limits: limits, period: limits.Request}
	if t.period == 0 {
		t.period = limits.Idle
	}
	if t.period > 0 {
		t.timer = time.AfterFunc(1<<62, t.check)
		t.timer.Reset(t.period) // not before t.timer is set: check resets it
	}
	return t
}

func (t *requestTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// turn records that a request begins or is answered.
func (t *requestTimer) turn() { t.turns.Add(1) }

// check closes the connection if a request, or the pause between two, takes too long.
func (t *requestTimer) check() {
	turns := t.turns.Load()
	switch inRequest := turns%2 == 1; {
	case turns != t.seen:
		t.seen, t.idle = turns, 0
	case inRequest && t.limits.Request > 0:
		t.expire(fmt.Errorf("%w: a request and its reply take longer than %v (-request-timeout)", ErrLimit, t.limits.Request))
		return
	default:
		if t.idle += t.period; !inRequest && t.limits.Idle > 0 && t.idle >= t.limits.Idle {
			t.expire(fmt.Errorf("%w: no request for %v (-idle-timeout)", ErrLimit, t.limits.Idle))
			return
		}
	}
	t.timer.Reset(t.period)
}

func (t *requestTimer) expire(why error) {
	t.expired.Store(&why)
	t.conn.Close()
}

// cause returns why err ended the connection: the timer's own reason, if the timer
// closed it.
func (t *requestTimer) cause(err error) error {
	if own := t.expired.Load(); own != nil {
		return *own
	}
	return err
}
