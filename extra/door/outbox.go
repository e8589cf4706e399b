package door

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"kvlab/kvs"
)

// outbox sends the replies of a connection. A client may send many commands before it
// reads a reply, so flush does not wait for the socket: what that does not take is sent
// by a goroutine. Only mostQueued bytes of replies make flush wait, until the client
// reads some, or has read none for the timeout.
type outbox struct {
	buf     []byte // replies that flush sends; its other fields are not the caller's
	conn    net.Conn
	raw     syscall.RawConn // of conn; nil if it is encrypted
	timeout time.Duration   // 0 sets none

	attempt func(fd uintptr) bool // writes to raw once, without waiting
	n       int                   // what attempt wrote
	err     error

	mu      sync.Mutex
	changed sync.Cond // any of the fields below
	waiting []byte    // replies for send; guarded by mu, as are the next three
	queued  int       // bytes of them and of those that send is writing
	sending bool      // send runs
	failed  error     // the first error
}

const (
	mostQueued = kvs.MaxBody
	piece      = 256 << 10 // bytes that the timeout is for
	keptBuf    = 1 << 20   // the largest buffer that is kept
)

func newOutbox(conn net.Conn, timeout time.Duration) *outbox {
	o := &outbox{conn: conn, timeout: timeout}
	o.changed.L = &o.mu
	o.attempt = func(fd uintptr) bool {
		for o.n, o.err = -1, syscall.EINTR; o.err == syscall.EINTR; {
			o.n, o.err = syscall.Write(int(fd), o.buf)
		}
		return true
	}
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			o.raw = raw
		}
	}
	return o
}

// flush hands buf over, and empties it.
func (o *outbox) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.sending && o.raw != nil {
		o.try()
	}
	if len(o.buf) > 0 && o.failed == nil {
		o.queue()
	}
	if o.buf = o.buf[:0]; cap(o.buf) > keptBuf {
		o.buf = nil
	}
	return o.failed
}

// try writes what the socket takes at once. mu is held.
func (o *outbox) try() {
	err := o.raw.Write(o.attempt)
	if err == nil && o.err != nil && o.err != syscall.EAGAIN {
		err = os.NewSyscallError("write", o.err)
	}
	if o.failed = err; err == nil && o.n > 0 {
		o.buf = o.buf[:copy(o.buf, o.buf[o.n:])]
	}
}

// queue leaves buf to send. mu is held.
func (o *outbox) queue() {
	for o.queued > 0 && o.queued+len(o.buf) > mostQueued && o.failed == nil {
		o.changed.Wait()
	}
	o.waiting = append(o.waiting, o.buf...)
	o.queued += len(o.buf)
	if !o.sending {
		o.sending = true
		go o.send()
	}
}

// send writes what is waiting until nothing is, or an error, which closes the connection.
func (o *outbox) send() {
	o.mu.Lock()
	defer func() {
		failed := o.failed
		o.mu.Unlock()
		o.changed.Broadcast()
		if failed != nil {
			o.conn.Close() // wakes the reader, and waits for it
		}
	}()
	for len(o.waiting) > 0 && o.failed == nil {
		batch := o.waiting
		o.waiting = nil
		for len(batch) > 0 && o.failed == nil {
			some := batch[:min(len(batch), piece)]
			batch = batch[len(some):]
			o.mu.Unlock()
			err := o.write(some)
			o.mu.Lock()
			o.queued -= len(some)
			o.failed = err
			o.changed.Broadcast()
		}
	}
	_ = o.conn.SetWriteDeadline(time.Time{}) // only a closed connection refuses it
	o.sending = false
}

// write waits for the client to read.
func (o *outbox) write(some []byte) error {
	if o.timeout > 0 {
		_ = o.conn.SetWriteDeadline(time.Now().Add(o.timeout)) // Write finds the same error
	}
	_, err := o.conn.Write(some)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the client has not read a reply for %v (-request-timeout)", o.timeout)
	}
	return err
}

// finish waits until all is sent, or an error.
func (o *outbox) finish() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.sending {
		o.changed.Wait()
	}
	return o.failed
}
