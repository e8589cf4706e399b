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

// ErrTimeout is wrapped by the error of every call that has not been answered in
// its time, and of all others under way on its connection, which is closed.
var ErrTimeout = errors.New("call timed out")

// ticks is how many times in a call's time, and at least how often, a connection
// is looked at: so much later than its time a call ends.
const (
	ticks    = 16
	longTick = 100 * time.Millisecond
)

// patient is a client's codec whose calls are answered in time or fail. net/rpc
// knows no deadline (golang.org/issue/33615), and a call that is given up alone
// would leave its reply to be decoded into memory that has another use by then.
// So a late call ends the connection, which frees everyone: who waits for a
// reply, who is stuck in a write, and who waits for that one's lock.
//
// Replies come in the order of their calls, so the number of the last call that
// was sent a while ago, held against the last that was answered, shows the
// oldest. Both are counted by who sends and who receives; nobody reads a clock
// for a call.
type patient struct {
	rpc.ClientCodec
	sent     atomic.Uint64 // calls
	answered atomic.Uint64
	reading  uint64 // the call whose reply is being read, counted from 1
	closed   chan struct{}
	close    sync.Once
}

// newPatient starts a goroutine that ends with Close. A timeout of 0 is none:
// the codec is returned as it is.
func newPatient(codec rpc.ClientCodec, conn *mortal, timeout time.Duration) rpc.ClientCodec {
	if timeout <= 0 {
		return codec
	}
	p := &patient{ClientCodec: codec, closed: make(chan struct{})}
	go watchCalls(&p.sent, &p.answered, timeout, p.closed, func() { conn.end(late(timeout)) })
	return p
}

// late is the error of a call that was not answered in its time.
func late(timeout time.Duration) error {
	return fmt.Errorf("%w: no reply within %v", ErrTimeout, timeout)
}

// watchCalls looks once a tick at how many calls were sent and answered, and calls
// giveUp when one has waited for timeout since watchCalls was called; then, or when
// closed is, it returns. It counts its own ticks and not the time, so that a
// process that was stopped for a while and wakes up with a ticker that has rung
// once blames nobody.
func watchCalls(sent, answered *atomic.Uint64, timeout time.Duration, closed <-chan struct{}, giveUp func()) {
	tick := min(longTick, max(timeout/ticks, time.Millisecond))
	before := make([]uint64, (timeout+tick-1)/tick) // sent, a timeout ago and since
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

func (p *patient) WriteRequest(r *rpc.Request, body any) error {
	p.sent.Store(r.Seq + 1) // before the write, which may be what hangs
	return p.ClientCodec.WriteRequest(r, body)
}

func (p *patient) ReadResponseHeader(r *rpc.Response) error {
	err := p.ClientCodec.ReadResponseHeader(r)
	p.reading = r.Seq + 1
	return err
}

func (p *patient) ReadResponseBody(body any) error {
	err := p.ClientCodec.ReadResponseBody(body)
	p.answered.Store(p.reading)
	return err
}

func (p *patient) Close() error {
	p.close.Do(func() { close(p.closed) })
	return p.ClientCodec.Close()
}

// mortal is a connection that can be ended for a reason, which every Read and
// Write under way or to come then returns.
type mortal struct {
	net.Conn
	reason atomic.Pointer[error]
}

// end closes the connection. The first reason stays.
func (m *mortal) end(reason error) {
	m.reason.CompareAndSwap(nil, &reason)
	_ = m.Conn.Close() // the reason says more
}

func (m *mortal) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	return n, m.because(err)
}

func (m *mortal) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	return n, m.because(err)
}

func (m *mortal) because(err error) error {
	if err != nil {
		if reason := m.reason.Load(); reason != nil {
			return *reason
		}
	}
	return err
}
