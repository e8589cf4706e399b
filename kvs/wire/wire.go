package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"kvlab/kvs"
)

const dialTimeout = 5 * time.Second

// Dial connects to a server and shakes hands, unless ctx ends first. It returns
// the client and who the server is, but for the token.
func Dial(ctx context.Context, addr string, id Identity) (*kvs.Client, Identity, error) {
	if id.Retries != nil {
		lane, server, err := newLane(ctx, addr, id)
		if err != nil {
			return nil, Identity{}, err
		}
		return kvs.NewClient(lane), server, nil
	}
	conn, server, err := connect(ctx, addr, id)
	if err != nil {
		return nil, Identity{}, err
	}
	above, below := id.layer(conn)
	codec := codecNamed(id.Codec).client(above, id.Options)
	return kvs.NewClient(newPatient(codec, below, id.CallTimeout)), server, nil
}

// connect is Dial up to the codec.
func connect(ctx context.Context, addr string, id Identity) (net.Conn, Identity, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	socket, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, Identity{}, err // it names the address
	}
	stop := context.AfterFunc(ctx, func() { socket.Close() })
	conn, server, err := id.reach(socket, addr)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		socket.Close()
		return nil, Identity{}, err
	}
	return conn, server, nil
}

// reach makes of a socket a connection to the server that it leads to. Its errors
// name the address.
func (id Identity) reach(socket net.Conn, addr string) (net.Conn, Identity, error) {
	conn, server, err := id.meet(socket, addr)
	switch err = untrusted(err); {
	case errors.Is(err, errForeign):
		err = fmt.Errorf("server %s answers, but is no kvlab server: %w", addr, err)
	case errors.Is(err, errSilent):
		err = fmt.Errorf("server %s answers, but is no kvlab server, or one that hangs: %w", addr, err)
	case err != nil:
		err = fmt.Errorf("server %s: %w", addr, err)
	}
	return conn, server, err
}

// meet sets the socket up, encrypts it if the client wants TLS, and shakes hands.
func (id Identity) meet(socket net.Conn, addr string) (net.Conn, Identity, error) {
	if err := id.apply(socket); err != nil {
		return nil, Identity{}, err
	}
	conn, err := id.encrypt(socket, addr)
	if err != nil {
		return nil, Identity{}, err
	}
	server, err := id.greet(conn)
	return conn, server, err
}
