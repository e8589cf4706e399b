package wire

import (
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"strings"
	"sync/atomic"
	"time"

	"kvlab/kvs"
)

// remoteMethod is the one remote call, as net/rpc spells it.
const remoteMethod = "KVS.BatchPutGet"

// Client is one connection to one server. It is safe for concurrent use.
// net/rpc serializes the sends of one client and reads its replies in one goroutine.
// With large batches one client per worker is faster; with small batches a shared
// client is faster, because one write carries several calls.
type Client struct {
	rpc   *rpc.Client
	codec *clientCodec
}

// newClient returns a client whose calls on the codec's connection may take timeout; 0
// sets no limit.
func newClient(codec rpc.ClientCodec, timeout time.Duration, conn clientConn) *Client {
	c := &clientCodec{ClientCodec: codec}
	if timeout > 0 {
		go Watch(&c.sent, &c.answered, timeout, conn.closed(), conn.closeFor)
	}
	return &Client{rpc: rpc.NewClientWithCodec(c), codec: c}
}

// Send sends the call's batch and returns when it is written. The client owns the
// batch and the reply until Wait returns. The first Send sets the call's State.
func (c *Client) Send(call *kvs.Call) {
	done, ok := call.State.(chan *rpc.Call)
	if !ok {
		done = make(chan *rpc.Call, 1)
		call.State = done
	}
	c.rpc.Go(remoteMethod, call.Batch, call.Reply, done)
}

// ErrUnsent is wrapped by a call's error if no byte of the call was sent. The
// connection remains usable.
var ErrUnsent = errors.New("not sent")

// ErrUnknown is the error of a call whose server's process ended before it answered, if
// another process has taken its place with the same store. The call was applied once, in
// part or not at all, and is never applied later. The connection remains usable.
var ErrUnknown = errors.New("the server's process ended before it answered: the outcome is unknown")

// Wait waits for the reply to a sent call and returns the call's error. The connection
// stays open only after an error that the server sent (rpc.ServerError), ErrUnknown, or one
// that wraps ErrUnsent. After any other error its state is unknown, and Wait closes it.
func (c *Client) Wait(call *kvs.Call) error {
	done := <-call.State.(chan *rpc.Call)
	call.Err = done.Error
	if n := call.Batch.Len(); call.Err == nil && call.Reply.Len() != n && (!call.Batch.Transactional() || call.Reply.Len() > n) {
		call.Err = fmt.Errorf("%w reply: %d results for %d operations", kvs.ErrMalformed, call.Reply.Len(), call.Batch.Len())
	}
	if call.Err != nil {
		call.Err = c.codec.cause(call.Err)
	}
	if call.Err != nil && !leavesConnection(call.Err) {
		c.codec.keep(call.Err)
		_ = c.rpc.Close() // the call's error is the reason
	}
	return call.Err
}

// clientCodec counts the calls for a watchdog, and keeps the error that ended its connection:
// net/rpc passes on only the text of a body's, and none to later calls (input and send in
// net/rpc/client.go).
type clientCodec struct {
	rpc.ClientCodec
	sent     atomic.Uint64 // calls
	answered atomic.Uint64
	reading  uint64 // the call whose reply is being read, counted from 1
	ended    atomic.Pointer[error]
}

// WriteRequest refuses a batch that the server would refuse.
func (c *clientCodec) WriteRequest(r *rpc.Request, body any) error {
	if size := body.(*kvs.Batch).Size(); size > kvs.MaxBody {
		return fmt.Errorf("send a body of %d bytes; at most %d: %w", size, kvs.MaxBody, ErrUnsent)
	}
	c.sent.Store(r.Seq + 1) // before the write, which may be what hangs
	return c.ClientCodec.WriteRequest(r, body)
}

func (c *clientCodec) ReadResponseHeader(r *rpc.Response) error {
	err := c.ClientCodec.ReadResponseHeader(r)
	c.reading = r.Seq + 1
	c.keep(err)
	return err
}

func (c *clientCodec) ReadResponseBody(body any) error {
	err := c.ClientCodec.ReadResponseBody(body)
	c.answered.Store(c.reading)
	c.keep(err)
	return err
}

// keep keeps the first error of a failed read or a wrong reply: others follow from it.
func (c *clientCodec) keep(err error) {
	if err != nil {
		kept := err // a copy: &err would allocate for each reply, good or not
		c.ended.CompareAndSwap(nil, &kept)
	}
}

// cause replaces the text in a call's error by the kept error, if it is the same, and adds
// the kept error to that of a call on a connection that has ended.
func (c *clientCodec) cause(err error) error {
	kept := c.ended.Load()
	switch {
	case kept == nil:
	case err == rpc.ErrShutdown, strings.HasSuffix(err.Error(), net.ErrClosed.Error()) && !errors.Is(*kept, net.ErrClosed):
		return fmt.Errorf("%w: %w", err, *kept)
	case err.Error() == "reading body "+(*kept).Error():
		return fmt.Errorf("read the reply: %w", *kept)
	}
	if _, ok := c.ClientCodec.(*session); ok && err.Error() == ErrUnknown.Error() {
		return ErrUnknown // of the session's own: it takes no such reply
	}
	return err
}

// leavesConnection reports whether the connection is usable after a call's error.
// It is a separate function, so that errors.As's target escapes only on errors.
func leavesConnection(err error) bool {
	var answered rpc.ServerError
	return errors.As(err, &answered) || errors.Is(err, ErrUnsent) || errors.Is(err, ErrUnknown)
}

// Close closes the connection. Calls that have no reply yet fail.
func (c *Client) Close() error {
	if err := c.rpc.Close(); err != nil && !errors.Is(err, rpc.ErrShutdown) {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}
