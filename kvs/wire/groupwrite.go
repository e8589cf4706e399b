package wire

import (
	"net"
	"runtime"
	"sync"
)

// MaxGroup is how many bytes wait for one write at most. A frame that does not
// fit is written by its sender, behind what waits and without a copy.
const MaxGroup = 16 << 10

// groupWriter is a connection that sends small writes together: bytes that are
// written during a write wait for the next one. Nothing waits for time to pass.
// Write returns before the bytes are sent; if sending fails, the connection is
// closed, and every later Write and Read returns the reason.
//
// Write, Read and Close may be called at once. Writes are sent in the order of
// their calls, which is defined only when one returns before the next begins.
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
		// Other runnable goroutines may be about to write as well: replies come
		// together, and wake many senders. Without this, 64 senders of one
		// operation each over 8 connections reach 0.4 times the throughput.
		runtime.Gosched()
		if c.flush(nil) != nil {
			return
		}
	}
}

// Write copies p or sends it; p is the caller's again on return.
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

// flush writes what waits, and p behind it.
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

// fail closes the connection: bytes that Write accepted are lost, so the callers
// that wait for their replies must get the error.
func (c *groupWriter) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	_ = c.Close() // the first error says more
}

// Read returns the error of a failed write rather than that the connection is closed.
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

// Close closes the connection. Bytes that wait are lost, as are calls without a
// reply.
func (c *groupWriter) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
