package wire

import (
	"errors"
	"fmt"
	"net/rpc"
	"sync/atomic"

	"kvlab/kvs"
)

// Method is the one remote call, as net/rpc spells it.
const Method = "KVS.BatchPutGet"

// Client is one connection to one server. It is safe for concurrent use.
// net/rpc serializes the sends of one client and reads its replies in one
// goroutine: with large batches a worker is faster with a client of its own, with
// small ones workers that share a client are, because their calls travel together.
type Client struct {
	rpc   *rpc.Client
	codec *errorKeepingCodec
}

func newClient(codec rpc.ClientCodec) *Client {
	c := &errorKeepingCodec{ClientCodec: codec}
	return &Client{rpc: rpc.NewClientWithCodec(c), codec: c}
}

// Send sends the call's batch and returns when it is written; Wait waits for the
// reply. The batch and the reply belong to the client until then. The call's State
// is the client's, made for its first Send.
func (c *Client) Send(call *kvs.Call) {
	done, ok := call.State.(chan *rpc.Call)
	if !ok {
		done = make(chan *rpc.Call, 1)
		call.State = done
	}
	c.rpc.Go(Method, call.Batch, call.Reply, done)
}

// ErrUnsent is wrapped by the error of a call of which no byte was sent. Its
// connection is still usable.
var ErrUnsent = errors.New("not sent")

// Wait waits for the reply of the call that was sent last and returns the call's
// error. The connection stays open only after an error that the server sent
// (rpc.ServerError) or that wraps ErrUnsent: after any other, the state of the
// connection is unknown.
func (c *Client) Wait(call *kvs.Call) error {
	done := <-call.State.(chan *rpc.Call)
	call.Err = done.Error
	if call.Err == nil && call.Reply.Len() != call.Batch.Len() {
		call.Err = fmt.Errorf("%w reply: %d results for %d operations", kvs.ErrMalformed, call.Reply.Len(), call.Batch.Len())
	}
	if call.Err != nil {
		call.Err = c.codec.cause(call.Err)
	}
	if call.Err != nil && !leavesConnection(call.Err) {
		_ = c.rpc.Close() // the call's error is the reason
	}
	return call.Err
}

// errorKeepingCodec keeps the error for which the body of a reply could not be
// read: net/rpc passes on its text only (input in net/rpc/client.go).
type errorKeepingCodec struct {
	rpc.ClientCodec
	readErr atomic.Pointer[error]
}

func (c *errorKeepingCodec) ReadResponseBody(body any) error {
	err := c.ClientCodec.ReadResponseBody(body)
	if err != nil {
		kept := err // a copy: &err would allocate for each reply, good or not
		c.readErr.Store(&kept)
	}
	return err
}

// cause returns a call's error with the error that it is the text of.
func (c *errorKeepingCodec) cause(err error) error {
	if kept := c.readErr.Load(); kept != nil && err.Error() == "reading body "+(*kept).Error() {
		return fmt.Errorf("read the reply: %w", *kept)
	}
	return err
}

// leavesConnection reports whether the connection is usable after a call's error.
// It is a separate function, so that errors.As's target escapes only on errors.
func leavesConnection(err error) bool {
	var answered rpc.ServerError
	return errors.As(err, &answered) || errors.Is(err, ErrUnsent)
}

// Close closes the connection. Calls that have no reply yet fail.
func (c *Client) Close() error {
	if err := c.rpc.Close(); err != nil && !errors.Is(err, rpc.ErrShutdown) {
		return fmt.Errorf("close the connection: %w", err)
	}
	return nil
}
