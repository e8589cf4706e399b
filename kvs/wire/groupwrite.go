package wire

import (
	"context"
	"runtime"
	"sync"
)

// MaxGroup is the largest number of bytes that wait for one write. The sender of a
// frame that does not fit writes the waiting bytes and then its frame, uncopied.
const MaxGroup = 16 << 10

// groupWriter is a connection that combines small writes: bytes written during a
// write wait for the next one. There is no timer. Write returns before the bytes are
// sent. If sending fails, groupWriter closes the connection, and every later Write and
// Read returns the reason.
//
// Write, Read and Close may be called concurrently. A Write that returns before
// another begins is sent before it. Close loses the waiting bytes.
type groupWriter struct {
	*contextConn
	due chan struct{} // holds one when bytes wait

	sending sync.Mutex // held while writing to Conn, and taken before mu
	spare   []byte     // guarded by sending

	mu      sync.Mutex
	waiting []byte // guarded by mu
}

// newGroupWriter starts a goroutine that ends with Close.
func newGroupWriter(conn *contextConn) *groupWriter {
	c := &groupWriter{contextConn: conn, due: make(chan struct{}, 1)}
	go c.run()
	return c
}

func (c *groupWriter) run() {
	for {
		select {
		case <-c.due:
		case <-c.closed():
			return
		}
		// Other runnable goroutines may write soon: replies arrive together and
		// wake many senders. Without this, 64 senders of one operation each over
		// 8 connections reach 0.4 times the throughput.
		runtime.Gosched()
		if c.flush(nil) != nil {
			return
		}
	}
}

// Write copies p or sends it. The caller may reuse p.
func (c *groupWriter) Write(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	c.mu.Lock()
	if len(c.waiting)+len(p) > MaxGroup {
		c.mu.Unlock()
		if err := c.flush(p); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	c.waiting = append(c.waiting, p...)
	c.mu.Unlock()
	select {
	case c.due <- struct{}{}:
	default: // run has been notified
	}
	return len(p), nil
}

// flush writes the waiting bytes and then p. If that fails, it closes the connection, so
// that callers whose written bytes are lost get the error instead of a reply.
func (c *groupWriter) flush(p []byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.mu.Lock()
	first := c.waiting
	c.waiting = c.spare[:0]
	c.mu.Unlock()
	c.spare = first
	for _, part := range [][]byte{first, p} {
		if len(part) == 0 {
			continue
		}
		if _, err := c.contextConn.Write(part); err != nil {
			c.closeFor(err)
			return err
		}
	}
	return nil
}
