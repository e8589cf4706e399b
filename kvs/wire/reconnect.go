package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fastrand"

	"kvlab/kvs"
)

// session is a client's codec that outlives its connections. net/rpc calls
// WriteRequest from one goroutine at a time, and its other methods except Close from
// another, the reader, which also reconnects. The goroutine that finds the
// connection broken closes it, so that the reader gets an error.
type session struct {
	addr    string
	options Options
	ctx     context.Context // ends with the session; its cause is the reason
	cancel  context.CancelCauseFunc
	pending pendingCalls
	reply   kvs.Reply // read by ReadResponseHeader for ReadResponseBody

	replaced bool // another process has taken the server's place, and not answered yet; only the reader uses it

	sending sync.Mutex   // held while requests are sent or the connection is replaced
	conn    *sessionConn // written by the reader with sending held
}

// errClosed is the error of calls whose session has been closed.
var errClosed = errors.New("the connection was closed")

// newSession connects to a server. It fails when ctx ends.
func newSession(ctx context.Context, addr string, o Options) (*session, Hello, error) {
	o.Retry = true
	s := &session{addr: addr, options: o}
	s.pending.calls = make([]pendingCall, o.Session.Window)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	conn, server, err := s.connect(ctx)
	if err != nil {
		return nil, Hello{}, err
	}
	s.conn, s.options.KnownInstance, s.options.Session.Process = conn, server.Instance, server.Process
	if o.CallTimeout > 0 {
		go Watch(&s.pending.sent, &s.pending.answered, o.CallTimeout, s.ctx.Done(), s.cancel)
	}
	return s, server, nil
}

// WriteRequest sends a call. If the connection is broken, the reader sends the call on
// the next one. WriteRequest fails after the session's end.
func (s *session) WriteRequest(r *rpc.Request, body any) error {
	batch := body.(*kvs.Batch)
	s.sending.Lock()
	defer s.sending.Unlock()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	number, err := s.pending.add(r.Seq, batch)
	if err != nil {
		return err
	}
	if err := s.conn.WriteRequest(&rpc.Request{Seq: number}, batch); err != nil {
		s.conn.closeFor(err)
	}
	return nil
}

// ReadResponseHeader waits for the next reply and reads all of it. It reconnects as
// often as necessary.
func (s *session) ReadResponseHeader(r *rpc.Response) error {
	for {
		if s.pending.hasLost() {
			*r = rpc.Response{Seq: s.pending.drop(), Error: ErrUnknown.Error()}
			return nil
		}
		err := s.receive(r)
		if err == nil {
			r.Seq = s.pending.drop()
			if s.replaced {
				s.answered()
			}
			return nil
		}
		if err := s.reconnect(err); err != nil {
			return err
		}
	}
}

// receive reads the reply to the oldest pending call.
func (s *session) receive(r *rpc.Response) error {
	*r = rpc.Response{}
	if err := s.conn.ReadResponseHeader(r); err != nil {
		return err
	}
	if due, calls := s.pending.unanswered(); calls == 0 || r.Seq != due {
		return fmt.Errorf("%w: a reply to call %d, where one to call %d is due", errFrame, r.Seq, due)
	}
	switch r.Error {
	case "":
		return s.conn.ReadResponseBody(&s.reply)
	case ErrUnknown.Error(): // which no server says
		return fmt.Errorf("%w: a reply that says %q", errFrame, r.Error)
	}
	return nil
}

// answered says that a process that has taken the server's place has answered.
func (s *session) answered() {
	s.replaced = false
	if s.options.Replaced != nil {
		s.options.Replaced()
	}
}

// ReadResponseBody returns the reply that ReadResponseHeader has read.
func (s *session) ReadResponseBody(body any) error {
	if reply, ok := body.(*kvs.Reply); ok {
		*reply, s.reply = s.reply, *reply
	}
	return nil
}

// Close ends the session. Pending calls fail.
func (s *session) Close() error {
	s.cancel(errClosed)
	return nil
}

// A session waits for a random part of a pause before it reconnects. The pause doubles
// with each attempt up to longestPause, so that the clients of a restarted server do
// not all connect at once.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond // in nanoseconds it fits into 32 bits
)

// redialTimeout limits the reconnect of a session without a CallTimeout.
const redialTimeout = 10 * time.Second

// reconnect replaces the lost connection and resends the pending calls. If it fails,
// the session ends with its error.
func (s *session) reconnect(cause error) error {
	s.conn.closeFor(cause) // so that a goroutine that is stuck in a write releases sending
	s.sending.Lock()
	if s.ctx.Err() != nil {
		s.sending.Unlock()
		return context.Cause(s.ctx)
	}
	conn, err := s.redial(cause)
	if err != nil {
		s.cancel(err)
		s.sending.Unlock()
		return err
	}
	s.conn = conn
	frames, calls := s.pending.frames(conn)
	s.options.Retried(calls, cause)
	// The reader reads meanwhile: a server whose replies are not read stops reading.
	go func() {
		defer s.sending.Unlock()
		if _, err := conn.Write(frames); err != nil {
			conn.closeFor(err)
		}
	}()
	return nil
}

// redial connects until it succeeds, is refused, or runs out of time.
func (s *session) redial(cause error) (*sessionConn, error) {
	limit := cmp.Or(s.options.CallTimeout, redialTimeout)
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit, fmt.Errorf("%w: no new connection within %v", ErrTimeout, limit))
	defer cancel()
	s.options.Session.Next, s.options.Session.Unanswered = s.pending.unanswered()
	last := cause
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		select {
		case <-time.After(time.Duration(fastrand.Uint32n(uint32(pause)))):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w; the one before: %w", context.Cause(ctx), last, cause)
		}
		conn, server, err := s.connect(ctx)
		if err == nil {
			s.meet(server.Process)
			return conn, nil
		}
		var restarted *RestartedError
		if errors.Is(err, ErrRefused) || errors.As(err, &restarted) {
			return nil, err
		}
		if ctx.Err() == nil {
			last = err
		}
	}
}

// meet compares the process that answers a reconnect with the one before. Another one does
// not know the pending calls, which are lost.
func (s *session) meet(process string) {
	if process != s.options.Session.Process {
		s.options.Session.Process, s.replaced = process, true
		s.pending.lost = s.pending.sent.Load()
	}
}

// sessionConn is one connection of a session. It is closed when its session ends, or
// after half a call timeout without a reply.
type sessionConn struct {
	*binaryClient
	clientConn
}

// connect makes the session's next connection.
func (s *session) connect(ctx context.Context) (*sessionConn, Hello, error) {
	s.options.Session.Connection++
	conn, server, err := connect(ctx, s.addr, s.options)
	if err != nil {
		return nil, Hello{}, err
	}
	top := s.options.layers(s.ctx, conn)
	if half := s.options.CallTimeout / 2; half > 0 {
		go Watch(&s.pending.sent, &s.pending.answered, half, top.closed(), top.closeFor)
	}
	return &sessionConn{&binaryClient{newBinaryConn(top, s.options.CRC)}, top}, server, nil
}

// pendingCalls are a session's calls without a reply, in order, numbered from 0.
// One goroutine adds calls; the reader drops answered ones. During a reconnect only
// the reader uses them.
type pendingCalls struct {
	calls          []pendingCall // by number
	sent, answered atomic.Uint64 // calls
	lost           uint64        // calls before this one get no reply any more; only the reader uses it
}

// pendingCall is one call. Its batch belongs to the waiting caller.
type pendingCall struct {
	seq   uint64 // its number in net/rpc
	batch *kvs.Batch
}

func (p *pendingCalls) at(number uint64) *pendingCall { return &p.calls[number%uint64(len(p.calls))] }

// add numbers a call. It fails if the server's reply cache has no room for another.
func (p *pendingCalls) add(seq uint64, batch *kvs.Batch) (number uint64, err error) {
	number = p.sent.Load()
	if number-p.answered.Load() == uint64(len(p.calls)) {
		return 0, fmt.Errorf("a call beside %d pending ones, the most of its session: %w", len(p.calls), ErrUnsent)
	}
	*p.at(number) = pendingCall{seq, batch}
	p.sent.Store(number + 1)
	return number, nil
}

// drop removes the oldest call and returns its number in net/rpc.
func (p *pendingCalls) drop() (seq uint64) {
	number := p.answered.Load()
	call := p.at(number)
	call.batch = nil
	p.answered.Store(number + 1)
	return call.seq
}

// hasLost reports whether the oldest call is lost.
func (p *pendingCalls) hasLost() bool { return p.answered.Load() < p.lost }

// unanswered returns the number of the oldest call, whose reply is next, and the number
// of calls, which add may increase meanwhile, both without lost ones.
func (p *pendingCalls) unanswered() (first uint64, calls int) {
	first = max(p.answered.Load(), p.lost)
	return first, int(p.sent.Load() - first)
}

// frames returns a copy of all calls' frames for a connection: callers may reuse their
// batches before all frames are written.
func (p *pendingCalls) frames(conn *sessionConn) (frames []byte, calls int) {
	first, calls := p.unanswered()
	for number := first; number < first+uint64(calls); number++ {
		batch := p.at(number).batch
		frame := batch.Frame()
		conn.seal(requestHeader(number, batch), frame)
		frames = append(frames, frame...)
	}
	return frames, calls
}
