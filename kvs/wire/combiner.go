package wire

import (
	"net"
	"runtime"
	"sync"
)

// MaxCombined is how many bytes wait for one write at most. A frame that does not
// fit is written by its sender, behind what waits and without a copy.
const MaxCombined = 16 << 10

// combiner is a connection whose small writes go out together: what is written
// while a write is under way waits for the next one. Nothing waits for time to
// pass. Write returns before the bytes are sent; when they cannot be, the
// connection is closed, and every later Write and Read returns the reason.
//
// Write, Read and Close may be called at once. Writes take effect in the order
// of their calls, which is defined only when one returns before the next begins.
type combiner struct {
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

// newCombiner starts a goroutine that ends with Close.
func newCombiner(conn net.Conn) *combiner {
	c := &combiner{Conn: conn, due: make(chan struct{}, 1), closed: make(chan struct{})}
	go c.run()
	return c
}

func (c *combiner) run() {
	for {
		select {
		case <-c.due:
		case <-c.closed:
			return
		}
		// Who else is ready to run may be about to write as well: replies
		// come together, and wake many senders. Without this, 64 senders
		// of one operation each over 8 connections make 0.4 times as much.
		runtime.Gosched()
		if c.flush(nil) != nil {
			return
		}
	}
}

// Write takes p over; it is the caller's again on return.
func (c *combiner) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.err != nil || len(c.waiting)+len(p) > MaxCombined {
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
	default: // it is known
	}
	return len(p), nil
}

// flush writes what waits, and p behind it.
func (c *combiner) flush(p []byte) error {
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

// fail ends the connection: bytes that Write took over are lost, and whoever
// waits for an answer to them must hear of it.
func (c *combiner) fail(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mu.Unlock()
	_ = c.Close() // the first error says more
}

// Read says why a write failed rather than that the connection is closed.
func (c *combiner) Read(p []byte) (int, error) {
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

// Close closes the connection. What waits is lost, as are calls under way.
func (c *combiner) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
