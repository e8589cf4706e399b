// Package pipeline is a connection to a foreign store whose replies come in the order of the
// requests. Requests are written while replies are read: a store stops reading when nobody
// reads what it replies.
package pipeline

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/wire"
)

// Codec is the protocol of a store. One goroutine at a time calls Append, and another may
// call Parse.
type Codec interface {
	// Append appends the requests of the first n of some operations: of one at least, and
	// of no more once dst has Chunk bytes. An error, such as a key that the store cannot
	// have, ends the connection.
	Append(dst []byte, ops []kvs.Op) (requests []byte, n int, err error)

	// Parse parses the replies at the start of buf to the first n of ops, and appends
	// their results to reply. It returns the size of what it parsed; size and n are 0 if
	// the next reply is not complete. After a *driver.OpError, which refuses the last of
	// the n operations and has no result, the connection goes on. Any other error ends it.
	// Parse must return an error for a reply that is not complete in MaxReply bytes.
	Parse(buf []byte, ops []kvs.Op, reply *kvs.Reply) (size, n int, err error)
}

// The sizes of buffers, in bytes.
const (
	Chunk    = 64 << 10 // requests that are written together
	MaxReply = kvs.MaxValueLen + 4096
	block    = 64 // operations that are decoded together
)

// Conn is a connection. It is a driver.Conn.
type Conn struct {
	socket net.Conn
	codec  Codec

	writing sync.Mutex // held for a call, so that calls are pending in the order of their requests
	out     []byte     // guarded by writing
	sending [block]kvs.Op

	sent, answered atomic.Uint64 // calls, for the watchdog
	ended          chan struct{}

	mu      sync.Mutex
	pending []pending // without a reply, in their order; guarded by mu
	err     error     // why the connection ended; guarded by mu
}

// pending is a call, or an exchange.
type pending struct {
	call  *kvs.Call
	parse Parser // nil of a call
}

// Parser parses the replies of an exchange at the start of buf, and says whether it has all.
// size is 0 if the next reply is not complete. It keeps nothing of buf.
type Parser func(buf []byte) (size int, done bool, err error)

// New returns the connection of a socket, on which a call may take timeout.
func New(socket net.Conn, codec Codec, timeout time.Duration) *Conn {
	c := &Conn{socket: socket, codec: codec, ended: make(chan struct{})}
	go wire.Watch(&c.sent, &c.answered, timeout, c.ended, c.end)
	go c.receive()
	return c
}

// Send writes the requests of a call.
func (c *Conn) Send(call *kvs.Call) {
	if call.State == nil {
		call.State = make(chan error, 1)
	}
	if call.Batch.Len() == 0 {
		call.Reply.Reset()
		call.State.(chan error) <- nil
		return
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.queue(pending{call: call}); err != nil {
		call.State.(chan error) <- err
		return
	}
	if err := c.write(call); err != nil {
		c.end(err) // which the call gets, too
	}
}

// Exchange writes requests that are no operations, and waits until parse has all of their
// replies. It sets the bytes of call, and uses nothing else of it.
func (c *Conn) Exchange(call *kvs.Call, requests []byte, parse Parser) error {
	if call.State == nil {
		call.State = make(chan error, 1)
	}
	c.writing.Lock()
	err := c.queue(pending{call, parse})
	if err == nil {
		call.Sent = len(requests)
		if _, err := c.socket.Write(requests); err != nil {
			c.end(fmt.Errorf("write requests: %w", err)) // which the call gets, too
		}
	}
	c.writing.Unlock()
	if err != nil {
		return err
	}
	return c.Wait(call)
}

// queue makes a call pending, before a byte of it is written.
func (c *Conn) queue(p pending) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.pending = append(c.pending, p)
		c.sent.Add(1)
	}
	return c.err
}

// write writes the requests of a call, and counts their bytes.
func (c *Conn) write(call *kvs.Call) error {
	out, cursor, sent := c.out[:0], call.Batch.Ops(), 0
	defer func() { c.out, call.Sent = out, sent }()
	for {
		n, err := cursor.Next(c.sending[:])
		if err != nil {
			return err
		}
		for ops := c.sending[:n]; len(ops) > 0; {
			var appended int
			if out, appended, err = c.codec.Append(out, ops); err != nil {
				return err
			}
			if ops = ops[appended:]; len(out) >= Chunk {
				sent += len(out)
				if err := c.flush(&out); err != nil {
					return err
				}
			}
		}
		if n < len(c.sending) {
			sent += len(out)
			return c.flush(&out)
		}
	}
}

// flush writes out, and empties it.
func (c *Conn) flush(out *[]byte) error {
	if _, err := c.socket.Write(*out); err != nil {
		return fmt.Errorf("write requests: %w", err)
	}
	*out = (*out)[:0]
	return nil
}

// Wait waits for the replies to a call, and returns the call's error.
func (c *Conn) Wait(call *kvs.Call) error {
	call.Err = <-call.State.(chan error)
	return call.Err
}

// end ends the connection. The first reason is kept.
func (c *Conn) end(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = reason
		close(c.ended)
		_ = c.socket.Close() // the reason says more
	}
}

// Close ends the connection. Calls that have no reply yet fail.
func (c *Conn) Close() error {
	c.end(fmt.Errorf("the connection was closed: %w", net.ErrClosed))
	return nil
}
