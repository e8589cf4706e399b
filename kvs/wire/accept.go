package wire

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"kvlab/kvs/service"
	"kvlab/metrics"
)

// Conn is a client's connection on a server, after the handshake. Next and Reply
// belong to one goroutine; which goroutine executes a call is the server's choice.
type Conn struct {
	Service *service.Conn // executes the calls

	socket  net.Conn
	conn    net.Conn // socket, under TLS or as it is
	node    string   // the client's name
	codec   serverCodec
	timer   *RequestTimer
	release func() // ends the client's part in the agreement on shards
}

// Accept performs the handshake with the client behind socket and opens its session.
// On failure it closes the socket.
func Accept(socket net.Conn, o Options, service *service.Service) (*Conn, error) {
	c := &Conn{socket: socket, release: func() {}}
	o.Instance, o.Process = service.Instance(), service.Process()
	if err := c.open(o, service); err != nil {
		_ = c.Close() // the handshake's error says more
		return nil, fmt.Errorf("client %s: %w", socket.RemoteAddr(), err)
	}
	return c, nil
}

// open sets the socket up, decrypts it if the server wants TLS, and shakes hands.
func (c *Conn) open(o Options, service *service.Service) (err error) {
	if err = o.SetBuffers(c.socket); err != nil {
		return err
	}
	if c.conn, err = o.decrypt(c.socket); err != nil {
		return err
	}
	peer, err := o.admit(c.conn, func(client Hello) error { return c.attach(o, client, service) })
	if err != nil {
		return err
	}
	c.node, c.Service.Dedup, c.Service.Versions = peer.Node, peer.Dedup, peer.Cache
	c.Service.Transactions = peer.Transactions
	c.codec = codecNamed(peer.Codec).server(c.conn, peer.Features, o.Limits)
	c.timer = WatchRequests(c.conn, o.Limits)
	return nil
}

// attach opens the session of a client that has proved the token.
func (c *Conn) attach(o Options, client Hello, service *service.Service) error {
	leave, err := service.CheckPlacement(client.Node, client.Placement)
	if err != nil {
		return fmt.Errorf("placement on server %s: %w", o.Node, err)
	}
	c.release = leave
	if client.Retry {
		c.Service, err = service.Attach(client.Node, client.Session, func() { c.socket.Close() })
	} else {
		c.Service = service.Open(client.Node)
	}
	if err == nil {
		c.Service.Lane = client.Lane
		c.Service.Protocol = metrics.Protocol{Codec: client.Codec, CRC: client.CRC, Dedup: client.Dedup, Retry: client.Retry, Cache: client.Cache, TLS: o.TLS != nil, Txn: client.Transactions}
	}
	return err
}

// Next waits for the next request and reads it. io.EOF means that the client closed
// the connection between two requests. Any error ends the connection; Next first
// sends the client the reason where the codec allows it.
func (c *Conn) Next(r *Request) error {
	err := c.codec.await()
	if err == io.EOF && !c.Service.Superseded() {
		return err
	}
	if err != nil {
		return c.cause(err)
	}
	c.timer.Turn()
	if err = c.codec.read(r); err == nil {
		return nil
	}
	if r.Err != nil && c.Service.Refuse(r.Seq, r.Err, errors.Is(r.Err, errLimit)) {
		_ = c.codec.write(r) // the connection ends for the first error
	}
	return c.cause(noEOF(err)) // within a request no end is orderly
}

// Reply answers a request and frees its reply. If the next request has already
// arrived, both replies may be sent together.
func (c *Conn) Reply(r *Request) error {
	if r.Err != nil && (r.Err == service.ErrSuperseded || errors.Is(r.Err, service.ErrNotDurable)) {
		return c.cause(r.Err) // the connection ends without an answer
	}
	err := c.codec.write(r)
	r.Reply.Free()
	c.timer.Turn()
	if err != nil {
		return c.cause(err)
	}
	return nil
}

// ReleaseBuffers frees the connection's buffers, and reports true, if they hold no byte of a
// next request. The caller then waits until the socket is readable, and calls AcquireBuffers
// before any other use. Under TLS a part of a record, which is no request yet, stays in the
// connection.
func (c *Conn) ReleaseBuffers() bool {
	if secure, ok := c.conn.(tlsConn); ok && c.codec.empty() {
		// A read that may not wait decrypts the records that have arrived.
		_ = secure.SetReadDeadline(time.Unix(1, 0))
		err := c.codec.await()
		_ = secure.SetReadDeadline(time.Time{})
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return false // Next returns the same error
		}
	}
	if !c.codec.empty() {
		return false
	}
	c.codec.releaseBuffers()
	return true
}

// AcquireBuffers follows ReleaseBuffers.
func (c *Conn) AcquireBuffers() { c.codec.acquireBuffers() }

// cause returns why err ended the connection.
func (c *Conn) cause(err error) error {
	if err = c.timer.Conn.Cause(err); c.Service.Superseded() {
		err = fmt.Errorf("%w has come", service.ErrSuperseded)
	}
	return fmt.Errorf("client %s (%s): %w", c.node, c.conn.RemoteAddr(), err)
}

// Close sends the waiting replies, closes the connection and ends its session.
// It is called once.
func (c *Conn) Close() error {
	if c.codec != nil {
		c.timer.Stop()
		_ = c.codec.Close() // what ended the connection is known
	}
	err := c.socket.Close()
	if c.Service != nil {
		c.Service.Close()
	}
	c.release()
	return err
}
