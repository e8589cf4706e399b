package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"slices"
	"time"

	"kvlab/kvs"
)

// Codecs are the codecs' names, the default first.
var Codecs = []string{"binary", "gob"}

// CheckCodec returns an error that names the flag unless name is a codec's.
func CheckCodec(name string) error {
	if !slices.Contains(Codecs, name) {
		return fmt.Errorf("-codec %q: want one of %q", name, Codecs)
	}
	return nil
}

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
	codec := rpc.ClientCodec(newBinaryClient(above, id.CRC))
	if id.Codec == "gob" {
		codec = newGobClient(above)
	}
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

// Serve admits one client over socket and serves its calls one after another,
// each answered before the next is read: the calls of one connection take
// effect in order, and no goroutine is made for a call. It returns when the
// connection ends, nil after the client closed it between two calls, and
// always closes it.
func Serve(socket net.Conn, id Identity, service *kvs.Service) error {
	defer socket.Close()
	var session *kvs.Session
	defer func() {
		if session != nil {
			session.Close()
		}
	}()
	id.Instance = service.Instance()
	leave := func() {}
	defer func() { leave() }()
	id.agree = func(peer Identity) error {
		left, err := service.Agree(peer.Node, peer.Shards)
		if err == nil {
			leave = left
		}
		return err
	}
	id.resume = func(peer Identity) (err error) {
		session, err = service.Resume(peer.Node, peer.Lane, func() { socket.Close() })
		return err
	}
	conn, peer, err := id.accept(socket)
	if err != nil {
		return fmt.Errorf("client %s: %w", socket.RemoteAddr(), err)
	}
	if id.Codec == RawCodec {
		if err := serveRaw(conn); err != nil {
			return fmt.Errorf("client %s (%s): %w", peer.Node, conn.RemoteAddr(), err)
		}
		return nil
	}
	if session == nil {
		session = service.Open(peer.Node)
	}
	session.Coalesce = peer.Coalesce
	end, err := newServerEnd(conn, peer, session, id.Limits)
	if err == nil {
		err = serveCalls(conn, end, id.Limits)
	}
	if session.Expelled() {
		err = fmt.Errorf("%w has come", kvs.ErrSuperseded)
	}
	if err != nil {
		return fmt.Errorf("client %s (%s): %w", peer.Node, conn.RemoteAddr(), err)
	}
	return nil
}

// accept makes of a socket a connection to the client that has come.
func (id Identity) accept(socket net.Conn) (net.Conn, Identity, error) {
	if err := id.apply(socket); err != nil {
		return nil, Identity{}, err
	}
	conn, err := id.decrypt(socket)
	if err != nil {
		return nil, Identity{}, err
	}
	peer, err := id.admit(conn)
	return conn, peer, err
}

// serverEnd is a server's end of a connection after the handshake.
type serverEnd interface {
	await() error // waits for a request's first byte; io.EOF is the orderly end
	serve() error // serves one request; after an error the connection is over
	Close() error
}

func newServerEnd(conn net.Conn, peer Identity, session *kvs.Session, limits Limits) (serverEnd, error) {
	if peer.Codec == "gob" {
		return newGobServer(conn, session, limits), nil
	}
	return newBinaryServer(conn, session, peer.CRC, limits), nil
}

// serveCalls serves requests until the connection ends.
func serveCalls(conn net.Conn, end serverEnd, limits Limits) error {
	defer end.Close()
	g := watch(conn, limits)
	defer g.stop()
	for {
		err := end.await()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			g.move()
			err = noEOF(end.serve()) // within a request no end is orderly
			g.move()
		}
		if err != nil {
			return g.why(err)
		}
	}
}
