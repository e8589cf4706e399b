package kvs

import (
	"errors"
	"fmt"
	"net/rpc"
	"sync/atomic"
)

// ServiceName and Method name the one remote call, as net/rpc spells it.
const (
	ServiceName = "KVS"
	Method      = ServiceName + ".BatchPutGet"
)

// Client is one connection to one server. It is safe for concurrent use.
// net/rpc serialises the sends of one client and reads its replies in one
// goroutine: with large batches a worker is faster with a client of its own,
// with small ones sharers are, whose calls then travel together.
type Client struct {
	rpc   *rpc.Client
	codec *candid
}

// NewClient returns a client that speaks through codec and owns it.
func NewClient(codec rpc.ClientCodec) *Client {
	c := &candid{ClientCodec: codec}
	return &Client{rpc: rpc.NewClientWithCodec(c), codec: c}
}

// Call is a batch under way to a server and the reply to come.
type Call struct {
	Batch *Batch
	Reply *Reply
	Err   error // set when the call is done; nothing is known of the batch then
	done  chan *rpc.Call
}

// Send sends the call's batch and returns when it is written; Wait waits for
// the reply. The batch and the reply belong to the call until then. A Call may
// be used again, one batch after another.
func (c *Client) Send(call *Call) {
	if call.done == nil {
		call.done = make(chan *rpc.Call, 1)
	}
	c.rpc.Go(Method, call.Batch, call.Reply, call.done)
}

// ErrUnsent is wrapped by the error of a call of which not a byte was sent, so that
// its connection is as good as before.
var ErrUnsent = errors.New("not sent")

// Wait waits for the reply of the call that was sent last and returns its
// error. After any that is neither the server's own answer (rpc.ServerError) nor
// ErrUnsent, nobody knows what the connection carries next, and it is closed.
func (c *Client) Wait(call *Call) error {
	done := <-call.done
	call.Err = done.Error
	if call.Err == nil && call.Reply.Len() != call.Batch.Len() {
		call.Err = fmt.Errorf("%w reply: %d results for %d operations", ErrMalformed, call.Reply.Len(), call.Batch.Len())
	}
	if call.Err != nil {
		call.Err = c.codec.whole(call.Err)
	}
	if call.Err != nil && !leavesConnection(call.Err) {
		_ = c.rpc.Close() // the call's error is the reason
	}
	return call.Err
}

// candid is a codec that remembers why half a reply could not be read: net/rpc
// passes on the words of that error alone (input in net/rpc/client.go).
type candid struct {
	rpc.ClientCodec
	unread atomic.Pointer[error]
}

func (c *candid) ReadResponseBody(body any) error {
	err := c.ClientCodec.ReadResponseBody(body)
	if err != nil {
		unread := err // a copy: &err would allocate for each reply, good or not
		c.unread.Store(&unread)
	}
	return err
}

// whole is a call's error, with what it wraps if net/rpc has left that out.
func (c *candid) whole(err error) error {
	if unread := c.unread.Load(); unread != nil && err.Error() == "reading body "+(*unread).Error() {
		return fmt.Errorf("read the reply: %w", *unread)
	}
	return err
}

// leavesConnection says whether the connection is good after a call's error. On
// its own, or each call without one would allocate what errors.As fills in.
func leavesConnection(err error) bool {
	var answered rpc.ServerError
	return errors.As(err, &answered) || errors.Is(err, ErrUnsent)
}

// Close closes the connection. Calls under way fail.
func (c *Client) Close() error {
	if err := c.rpc.Close(); err != nil && !errors.Is(err, rpc.ErrShutdown) {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}
