package wire

import (
	"context"
	"fmt"
	"net"
	"time"
)

const dialTimeout = 5 * time.Second

// Dial connects to a server and performs the handshake. It fails when ctx ends. It
// returns the client and the server's hello.
func Dial(ctx context.Context, addr string, o Options) (*Client, Hello, error) {
	if o.Retried != nil {
		s, server, err := newSession(ctx, addr, o)
		if err != nil {
			return nil, Hello{}, err
		}
		return newClient(s, 0, nil), server, nil // a session has its own watchdogs
	}
	conn, server, err := connect(ctx, addr, o)
	if err != nil {
		return nil, Hello{}, err
	}
	top := o.layers(context.Background(), conn)
	return newClient(codecNamed(o.Codec).client(top, o.Features), o.CallTimeout, top), server, nil
}

// connect returns Dial up to the codec.
func connect(ctx context.Context, addr string, o Options) (net.Conn, Hello, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	socket, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, Hello{}, err // it names the address
	}
	stop := context.AfterFunc(ctx, func() { socket.Close() })
	conn, server, err := o.reach(socket, addr)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		socket.Close()
		return nil, Hello{}, err
	}
	return conn, server, nil
}

// reach turns a socket into a connection to the server at its other end: it sets the
// buffers, starts TLS if the options have it, and performs the handshake. Its errors name
// the address.
func (o Options) reach(socket net.Conn, addr string) (conn net.Conn, server Hello, err error) {
	if err = o.SetBuffers(socket); err == nil {
		conn, err = o.encrypt(socket, addr)
	}
	if err == nil {
		server, err = o.greet(conn)
	}
	if err != nil {
		err = fmt.Errorf("server %s: %w", addr, certificateRefused(err))
	}
	return conn, server, err
}

// clientConn is a client's connection that is closed with a reason.
type clientConn interface {
	net.Conn
	closeFor(reason error)
	closed() <-chan struct{}
}

// layers wraps a client's connection as the options require. It is closed when ctx ends.
func (o Options) layers(ctx context.Context, conn net.Conn) clientConn {
	top := newContextConn(ctx, conn)
	if o.Shared {
		return newGroupWriter(top)
	}
	return top
}
