package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// receive reads replies until the connection ends, and then fails the pending calls.
func (c *Conn) receive() {
	c.end(c.read())
	c.mu.Lock()
	calls, err := c.pending, c.err
	c.pending = nil
	c.mu.Unlock()
	for _, p := range calls {
		p.call.State.(chan error) <- err
	}
}

// read reads replies until the connection ends. Its buffer grows for a long one.
func (c *Conn) read() error {
	in, r := make([]byte, Chunk), receiver{conn: c}
	kept := 0
	for {
		n, err := c.socket.Read(in[kept:])
		if err != nil {
			return fmt.Errorf("the connection broke: %w", err)
		}
		at, err := r.take(in[:kept+n])
		if err != nil {
			return err
		}
		if kept += n - at; kept == len(in) {
			in = append(in, make([]byte, len(in))...)
		} else if at > 0 {
			copy(in, in[at:at+kept])
		}
	}
}

// errStray is the error of a reply that comes before a request for it.
var errStray = fmt.Errorf("%w reply: it answers no request", kvs.ErrMalformed)

// receiver is the call whose replies are being read.
type receiver struct {
	conn    *Conn
	call    *kvs.Call // nil between two calls
	parse   Parser    // nil of a call of operations
	cursor  kvs.Ops   // behind ops
	ops     [block]kvs.Op
	waiting []kvs.Op // those of ops that have no reply yet; empty between two calls
	refused error    // the call's first *driver.OpError
}

// take takes the replies that buf holds, and returns their size.
func (r *receiver) take(buf []byte) (at int, err error) {
	for at < len(buf) {
		if r.call == nil {
			if err := r.begin(); err != nil {
				return at, fmt.Errorf("%w: %.40q", err, buf[at:])
			}
		}
		if r.parse != nil {
			size, err := r.exchange(buf[at:])
			if at += size; err != nil || size == 0 {
				return at, err
			}
			continue
		}
		size, n, err := r.conn.codec.Parse(buf[at:], r.waiting, r.call.Reply)
		at, r.waiting = at+size, r.waiting[n:]
		r.call.Received += size
		switch {
		case err != nil && !r.refuses(err):
			return at, err
		case len(r.waiting) == 0:
			if err := r.decode(at < len(buf)); err != nil {
				return at, fmt.Errorf("%w: %.40q", err, buf[at:])
			}
		case size == 0:
			return at, nil
		}
	}
	return at, nil
}

// exchange takes replies of an exchange, and returns their size.
func (r *receiver) exchange(buf []byte) (size int, err error) {
	size, done, err := r.parse(buf)
	r.call.Received += size
	if done && err == nil {
		err = r.end(nil, size < len(buf))
	}
	return size, err
}

// begin begins with the first pending call.
func (r *receiver) begin() error {
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	if len(r.conn.pending) == 0 {
		return errStray
	}
	r.call, r.parse, r.refused = r.conn.pending[0].call, r.conn.pending[0].parse, nil
	r.call.Received = 0
	if r.parse != nil {
		return nil
	}
	r.call.Reply.Reset()
	r.cursor = r.call.Batch.Ops()
	return r.more()
}

// more decodes the call's next operations.
func (r *receiver) more() error {
	n, err := r.cursor.Next(r.ops[:])
	r.waiting = r.ops[:n]
	return err
}

// decode decodes the call's next operations. After the last it ends the call. It returns
// errStray if replies are left then and no call is pending: a later call must not take them.
func (r *receiver) decode(left bool) error {
	if err := r.more(); err != nil || len(r.waiting) > 0 {
		return err
	}
	err := r.refused
	if err == nil && r.call.Reply.Excess {
		err = fmt.Errorf("the values of a call exceed %d bytes: want a smaller -batch", kvs.MaxBody)
	}
	return r.end(err, left)
}

// end ends the call with an error or nil.
func (r *receiver) end(err error, left bool) error {
	r.conn.mu.Lock()
	r.conn.pending = slices.Delete(r.conn.pending, 0, 1)
	stray := left && len(r.conn.pending) == 0
	r.conn.mu.Unlock()
	r.conn.answered.Add(1)
	r.call.State.(chan error) <- err
	r.call = nil
	if stray {
		return errStray
	}
	return nil
}

// refuses reports whether an error refuses one operation, and keeps a call's first.
func (r *receiver) refuses(err error) bool {
	var refused *driver.OpError
	if !errors.As(err, &refused) {
		return false
	}
	if r.refused == nil {
		r.refused = err
	}
	return true
}
