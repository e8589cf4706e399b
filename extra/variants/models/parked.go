package models

import (
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"kvlab/kvs/server"
	"kvlab/kvs/wire"
)

// parked is the model in which a connection has a goroutine and buffers only from the
// arrival of a request's first byte to its reply. Between two requests it is registered
// with an epoll(7) instance, which is itself a file of the runtime's poller, so that no
// thread waits in epoll_wait.
type parked struct {
	fd     int      // of the epoll instance
	epoll  *os.File // the same
	polled sync.WaitGroup

	mu      sync.Mutex
	next    int32           // number of the next connection
	waiting map[int32]*spot // that are parked; guarded by mu
}

func newParked() (*parked, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // for the runtime's poller
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &parked{fd: fd, epoll: os.NewFile(uintptr(fd), "epoll"), waiting: map[int32]*spot{}}
	raw, err := p.epoll.SyscallConn()
	if err != nil {
		return nil, err
	}
	p.polled.Go(func() { p.poll(raw) })
	return p, nil
}

func (p *parked) Stop() string {
	_ = p.epoll.Close() // ends poll
	p.polled.Wait()
	return ""
}

// poll serves each parked connection that becomes readable.
func (p *parked) poll(raw syscall.RawConn) {
	var events [128]unix.EpollEvent
	for {
		n, failed := 0, error(nil)
		err := raw.Read(func(fd uintptr) bool {
			n, failed = unix.EpollWait(int(fd), events[:], 0)
			return n > 0 || failed != nil && failed != unix.EINTR
		})
		if err != nil || failed != nil {
			return // the model has stopped
		}
		for i := range n {
			if s := p.take(events[i].Fd); s != nil {
				go s.resume()
			}
		}
	}
}

// take returns the parked connection of a number, which is then no longer parked; nil if
// another goroutine has taken it. The taker resumes it.
func (p *parked) take(number int32) *spot {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.waiting[number]
	delete(p.waiting, number)
	return s
}

// spot is a connection that can be parked.
type spot struct {
	*net.TCPConn
	model  *parked
	number int32
	known  bool // to the epoll instance

	conn  *wire.Conn
	ended func(error)
}

// parkingListener accepts spots.
type parkingListener struct {
	net.Listener
	model *parked
}

func (p *parked) Listener(l net.Listener) net.Listener { return parkingListener{l, p} }

func (l parkingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s := &spot{TCPConn: conn.(*net.TCPConn), model: l.model}
	l.model.mu.Lock()
	defer l.model.mu.Unlock()
	l.model.next++
	s.number = l.model.next
	return s, nil
}

// Close closes the connection. One that is parked is served again, to its end: epoll does
// not report a closed file.
func (s *spot) Close() error {
	err := s.TCPConn.Close()
	if s.model.take(s.number) != nil {
		go s.resume()
	}
	return err
}

func (p *parked) Serve(socket net.Conn, conn *wire.Conn, ended func(error)) {
	s := socket.(*spot)
	s.conn, s.ended = conn, ended
	if !s.park() {
		s.run()
	}
}

// calls are what connections use while they are served.
var calls = sync.Pool{New: func() any { return new(server.Call) }}

// resume serves a connection that was parked.
func (s *spot) resume() {
	s.conn.AcquireBuffers()
	s.run()
}

// run serves a connection until it is parked or ends.
func (s *spot) run() {
	c := calls.Get().(*server.Call)
	c.Conn = s.conn
	for {
		if err := c.Serve(server.Inline{}); err != nil {
			s.ended(err) // the reply may be the session's: c is not used again
			return
		}
		if s.park() {
			c.Conn = nil
			calls.Put(c)
			return
		}
	}
}

// park parks the connection, unless a part of a request is in its buffers, or it is
// closed. A parked connection is another goroutine's.
func (s *spot) park() bool {
	if !s.conn.ReleaseBuffers() {
		return false
	}
	p, operation, armed := s.model, unix.EPOLL_CTL_MOD, error(nil)
	if !s.known {
		s.known, operation = true, unix.EPOLL_CTL_ADD
	}
	p.mu.Lock()
	p.waiting[s.number] = s
	p.mu.Unlock()
	raw, err := s.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			armed = unix.EpollCtl(p.fd, operation, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: s.number})
		})
	}
	if err == nil && armed == nil || p.take(s.number) == nil {
		return true
	}
	s.conn.AcquireBuffers() // its next read finds the error
	return false
}
