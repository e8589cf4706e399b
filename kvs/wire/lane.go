package wire

import (
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
)

// Retries make a client's connections lanes (kvs.Lane), and count what that took.
// A connection that breaks, or answers nothing for half of the CallTimeout, is
// made again, and the calls under way on it are sent again, in order; the server
// applies each once. A call still ends after the CallTimeout, counted from when it
// was sent first.
//
// It is of the binary codec only: gob's encoder remembers which types it has sent
// on a connection. It may be shared by any number of connections.
type Retries struct {
	Connections atomic.Uint64 // that were made again
	Calls       atomic.Uint64 // that were sent again
	First       atomic.Pointer[error]
}

// note counts a connection that was lost for a cause and made again.
func (r *Retries) note(calls int, cause error) {
	r.Connections.Add(1)
	r.Calls.Add(uint64(calls))
	r.First.CompareAndSwap(nil, &cause)
}

// lane is a client's codec that outlives its connections. net/rpc calls
// WriteRequest from one goroutine at a time, and the others of its methods but
// Close from another, which also makes a new connection when one breaks: whoever
// finds it broken first closes it, so that the reader hears of it.
type lane struct {
	addr    string
	id      Identity
	ctx     context.Context // ends with the lane, for the reason that its cause is
	cancel  context.CancelCauseFunc
	pending *pending
	reply   kvs.Reply // that has come, from ReadResponseHeader to ReadResponseBody

	sending sync.Mutex // held while requests are sent, or a connection takes the place of another
	line    *line      // the connection; written by the reader with sending held
}

// errClosed is why calls fail whose lane has been closed.
var errClosed = errors.New("the connection was closed")

// newLane connects a lane, unless ctx ends first.
func newLane(ctx context.Context, addr string, id Identity) (*lane, Identity, error) {
	id.Lane.Connection = 1
	line, server, err := newLine(ctx, addr, id)
	if err != nil {
		return nil, Identity{}, err
	}
	l := &lane{addr: addr, id: id, pending: newPending(id.Lane.Window), line: line}
	l.id.Instance = server.Instance
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	line.obey(l)
	if id.CallTimeout > 0 {
		go watchCalls(&l.pending.sent, &l.pending.answered, id.CallTimeout, l.ctx.Done(), func() { l.cancel(late(id.CallTimeout)) })
	}
	return l, server, nil
}

// WriteRequest sends a call, or leaves it to the reader to send it on a new
// connection. It fails when the lane has ended.
func (l *lane) WriteRequest(r *rpc.Request, body any) error {
	batch, ok := body.(*kvs.Batch)
	if !ok {
		return fmt.Errorf("call %s: %T is not a batch", r.ServiceMethod, body)
	}
	if err := checkSize(batch.Frame()); err != nil {
		return err
	}
	l.sending.Lock()
	defer l.sending.Unlock()
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	number, err := l.pending.add(r.Seq, batch)
	if err != nil {
		return err
	}
	if err := l.line.request(number, batch); err != nil {
		l.line.end(err)
	}
	return nil
}

// ReadResponseHeader waits for the next reply, the whole of it, over as many
// connections as it takes.
func (l *lane) ReadResponseHeader(r *rpc.Response) error {
	for {
		err := l.receive(r)
		if err == nil {
			r.Seq = l.pending.drop()
			return nil
		}
		if err := l.reconnect(err); err != nil {
			return err
		}
	}
}

// receive reads the reply to the oldest call under way.
func (l *lane) receive(r *rpc.Response) error {
	*r = rpc.Response{}
	if err := l.line.ReadResponseHeader(r); err != nil {
		return err
	}
	if due, ok := l.pending.oldest(); !ok || r.Seq != due {
		return fmt.Errorf("%w: a reply to call %d, where one to call %d is due", ErrFrame, r.Seq, due)
	}
	if r.Error != "" {
		return nil
	}
	return l.line.ReadResponseBody(&l.reply)
}

// ReadResponseBody hands out what ReadResponseHeader has read.
func (l *lane) ReadResponseBody(body any) error {
	if reply, ok := body.(*kvs.Reply); ok {
		*reply, l.reply = l.reply, *reply
	}
	return nil
}

// Close ends the lane. Calls under way fail.
func (l *lane) Close() error {
	l.cancel(errClosed)
	return nil
}
