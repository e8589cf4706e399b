package labserver

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sync/semaphore"

	"kvlab/kvs"
	"kvlab/kvs/driver/lab"
	"kvlab/kvs/service"
)

const (
	queue = 64 // requests that are read and not answered, at most

	// queued is how many operations they have at most, if they are several: some 200 MB with the
	// course's values.
	queued = 1 << 20
)

// request is a remote call, and when it arrived.
type request struct {
	lab.Request
	at     time.Time
	weight int64
}

// conn is a connection. One goroutine reads its requests, and another executes them in order.
type conn struct {
	server  *Server
	socket  net.Conn
	served  *lab.Served
	service *service.Conn
	room    *semaphore.Weighted
	free    requests
	full    chan *request
	begun   atomic.Uint64 // requests of which a part has arrived
	wrote   time.Time     // when the last replies were sent

	count  count
	reply  kvs.Reply
	memory []byte   // of values
	values []string // of the request's operations
	err    error    // why replies could not be sent
}

func newConn(s *Server, socket net.Conn, served *lab.Served) *conn {
	return &conn{server: s, socket: socket, served: served, service: s.service.Open(Peer), room: semaphore.NewWeighted(queued), full: make(chan *request, queue)}
}

// requests are free. The last one is taken first: its memory is in the processor's cache.
type requests struct {
	mu  sync.Mutex
	all []*request // guarded by mu
}

func (r *requests) put(one *request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

func (r *requests) take() *request {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.all)
	if n == 0 {
		return new(request)
	}
	one := r.all[n-1]
	r.all = r.all[:n-1]
	return one
}

// run serves the connection until its end.
func (c *conn) run() error {
	defer c.service.Close()
	executed := make(chan struct{})
	go func() {
		defer close(executed)
		for r := range c.full {
			c.execute(r)
			c.room.Release(r.weight)
			c.free.put(r)
		}
	}()
	err := c.read()
	behind := c.begun.Load() - c.count.answered.Load() // calls whose client has gone
	close(c.full)
	<-executed
	if c.count.calls > 0 && c.left(err) {
		c.count.end(behind)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed) {
		return nil // the sum tells how the client left
	}
	return err
}

// read reads requests until the connection ends, and returns why.
func (c *conn) read() error {
	for {
		if err := c.served.Await(); err != nil {
			return err
		}
		at := time.Now()
		c.begun.Add(1)
		c.server.present.Add(1)
		r := c.free.take()
		if err := c.served.Read(&r.Request); err != nil {
			c.begun.Add(^uint64(0)) // it never was whole
			c.server.present.Add(-1)
			return err
		}
		r.at, r.weight = at, int64(min(len(r.Ops), queued))
		_ = c.room.Acquire(context.Background(), r.weight) // which has no end
		c.full <- r
	}
}

// execute executes a request and answers it.
func (c *conn) execute(r *request) {
	c.values, c.memory = c.values[:0], c.memory[:0]
	var err error
	for from := 0; from < len(r.Ops) && err == nil; from += chunk {
		err = c.apply(r.Ops[from:min(from+chunk, len(r.Ops))])
	}
	if err != nil {
		r.Refuse(err)
	}
	c.count.call(c.server, r, c.begun.Load())
	if c.err == nil {
		c.err = c.served.Answer(&r.Request, c.values)
	}
	if len(c.full) == 0 && c.err == nil {
		c.err, c.wrote = c.served.Flush(), time.Now()
	}
}

// apply applies operations, and appends their values.
func (c *conn) apply(ops []kvs.Op) error {
	if err := c.service.Apply(ops, &c.reply); err != nil {
		return err
	}
	results := c.reply.Results()
	for range ops {
		r, err := results.Next()
		if err != nil {
			return err
		}
		from := len(c.memory)
		c.memory = append(c.memory, r.Value...) // strings in memory that grows stay in the old one
		c.values = append(c.values, unsafe.String(unsafe.SliceData(c.memory[from:]), len(r.Value)))
	}
	c.count.hits += uint64(c.reply.Hits)
	return nil
}

// settle is when the peer of a closed connection has told so, after the last reply was sent to
// it: many times the round trip of a local network.
const settle = 20 * time.Millisecond

// left reports whether the client closed the connection, for the reason that reading tells,
// before it had all replies. Its system then resets the connection.
func (c *conn) left(why error) bool {
	switch {
	case errors.Is(why, syscall.ECONNRESET), errors.Is(why, io.ErrUnexpectedEOF):
		return true
	case why != io.EOF: // this server closed it, or does not understand the client
		return false
	case c.err != nil:
		return true
	}
	raw, ok := c.socket.(syscall.Conn)
	if !ok {
		return false
	}
	time.Sleep(settle - time.Since(c.wrote))
	broken := false
	if control, err := raw.SyscallConn(); err == nil {
		_ = control.Control(func(fd uintptr) { // of an open socket
			number, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
			broken = err == nil && number != 0
		})
	}
	return broken
}
