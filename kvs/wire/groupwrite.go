package wire

import (
	"net"
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
// another begins is sent before it.
type groupWriter struct {
	net.Conn
	due    chan struct{} // holds one when bytes wait
	closed chan struct{}
	close  sync.Once

	sending sync.Mutex // held while writing to Conn, and taken before mu
	spare   []byte     // guarded by sending

	mu      sync.Mutex
	waiting []byte // guarded by mu
	err     error  // of the first write that failed; guarded by mu
}

// newGroupWriter starts a goroutine that ends with Close.
func newGroupWriter(conn net.Conn) *groupWriter {
	c := &groupWriter{Conn: conn, due: make(chan struct{}, 1), closed: make(chan struct{})}
	go c.run()
	return c
}

func (c *groupWriter) run() {
	for {
		select {
		case <-c.due:
		case <-c.closed:
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
	c.mu.Lock()
	if c.err != nil || len(c.waiting)+len(p) > MaxGroup {
		err := c.err
		c.mu.Unlock()
		if err == nil {
			err = c.flush(p)
		}
		if err != nil {
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

// flush writes the waiting bytes and then p.
func (c *groupWriter) flush(p []byte) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.mu.Lock()
	first, err := c.waiting, c.err
	c.waiting = c.spare[:0]
	c.mu.Unlock()
	c.spare = first
	for _, part := range [][]byte{first, p} {
		if err == nil && len(part) > 0 {
			_, err = c.Conn.Write(part)
		}
	}
	if err != nil {
		c.fail(err)
	}
	return err
}

// fail closes the connection, so that callers whose written bytes are lost get the
// error instead of a reply.
func (c *groupWriter) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	_ = c.Close() // the first error says more
}

// Read returns the error of a failed write in place of net.ErrClosed.
func (c *groupWriter) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.err != nil {
			err = c.err
		}
	}
	return n, err
}

// Close closes the connection. Waiting bytes and calls without a reply are lost.
func (c *groupWriter) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
