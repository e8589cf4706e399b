package door

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// inbox reads a connection. A Read of package net waits only after it has found nothing,
// so that it costs two system calls for a client that sends one command at a time. An
// inbox waits first when the last read has emptied the socket.
type inbox struct {
	net.Conn
	raw     syscall.RawConn // of Conn; nil if it is encrypted
	fd      int             // while each calls
	emptied bool            // by the last read
}

// errNothing is a Read's error when nothing has arrived.
var errNothing = errors.New("nothing has arrived")

func newInbox(conn net.Conn) *inbox {
	in := &inbox{Conn: conn}
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			in.raw = raw
		}
	}
	return in
}

// each calls read, which reads once, until it returns an error other than errNothing.
//
// The socket is registered for edges. One that comes between two calls is kept, because
// the wait is within a single RawConn.Read. A read of fewer bytes than it has room for
// has emptied a stream (epoll(7), "Do I need to continuously read/write").
func (in *inbox) each(read func() error) (err error) {
	if in.raw == nil {
		for err == nil {
			err = read()
		}
		return err
	}
	closed := in.raw.Read(func(fd uintptr) bool {
		in.fd, in.emptied = int(fd), false
		for err == nil && !in.emptied {
			if err = read(); err == errNothing {
				err = nil
			}
		}
		return err != nil
	})
	if err == nil {
		err = closed
	}
	return err
}

// Read reads once. Of a connection that is not encrypted it is for each alone.
func (in *inbox) Read(p []byte) (n int, err error) {
	if in.raw == nil {
		return in.Conn.Read(p)
	}
	for {
		n, err = syscall.Read(in.fd, p)
		if err != syscall.EINTR {
			break
		}
	}
	in.emptied = n < len(p)
	switch {
	case err == syscall.EAGAIN:
		return 0, errNothing
	case err != nil:
		return 0, os.NewSyscallError("read", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
