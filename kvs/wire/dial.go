package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

const dialTimeout = 5 * time.Second

// Dial connects to a server and performs the handshake. It fails when ctx ends. It
// returns the client and the server's hello.
func Dial(ctx context.Context, addr string, o Options) (*Client, Hello, error) {
	if o.Retries != nil {
		codec, server, err := newSession(ctx, addr, o)
		if err != nil {
			return nil, Hello{}, err
		}
		return newClient(codec), server, nil
	}
	conn, server, err := connect(ctx, addr, o)
	if err != nil {
		return nil, Hello{}, err
	}
	top, below := o.layers(conn)
	codec := codecNamed(o.Codec).client(top, o.Features)
	return newClient(newTimeoutCodec(codec, below, o.CallTimeout)), server, nil
}

// connect is Dial up to the codec.
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

// reach turns a socket into a connection to the server at its other end. Its
// errors name the address.
func (o Options) reach(socket net.Conn, addr string) (net.Conn, Hello, error) {
	conn, server, err := o.meet(socket, addr)
	switch err = certificateRefused(err); {
	case errors.Is(err, errForeign):
		err = fmt.Errorf("server %s answers, but is no kvlab server: %w", addr, err)
	case errors.Is(err, errSilent):
		err = fmt.Errorf("server %s answers, but is no kvlab server, or one that hangs: %w", addr, err)
	case err != nil:
		err = fmt.Errorf("server %s: %w", addr, err)
	}
	return conn, server, err
}

// meet sets the socket's buffers, starts TLS if the options have it, and performs the
// handshake.
func (o Options) meet(socket net.Conn, addr string) (net.Conn, Hello, error) {
	if err := o.setBuffers(socket); err != nil {
		return nil, Hello{}, err
	}
	conn, err := o.encrypt(socket, addr)
	if err != nil {
		return nil, Hello{}, err
	}
	server, err := o.greet(conn)
	return conn, server, err
}

// layers wraps a client's connection as the options require. It returns the top
// layer, and the layer that closes the connection with a reason.
func (o Options) layers(conn net.Conn) (top net.Conn, below *closableConn) {
	below = &closableConn{Conn: conn}
	if o.Shared {
		return newGroupWriter(below), below
	}
	return below, below
}
