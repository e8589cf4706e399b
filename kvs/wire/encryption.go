package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// encrypted is a connection under TLS. Its Close ends it at once, where
// tls.Conn's first writes, for up to 5 s, to somebody who may not read any more.
type encrypted struct {
	*tls.Conn
	below net.Conn
}

func (e encrypted) Close() error { return e.below.Close() }

// errPlain and errTLS say what the other side speaks where this one does not.
var (
	errPlain = errors.New("the other side speaks without TLS")
	errTLS   = errors.New("the other side speaks TLS")
)

// A handshake without TLS begins with a length in two bytes and a brace, one
// with TLS with a record of type 22 and version 3 (RFC 8446, 5.1): three bytes
// tell them apart.
const telling = 3

func beginsTLS(first []byte) bool { return first[0] == 22 && first[1] == 3 && first[2] != '{' }

// wary is a connection for TLS that fails with errPlain when what comes first is
// a handshake without.
type wary struct {
	net.Conn
	known bool
	first []byte // read, and not passed on yet
}

func (w *wary) Read(p []byte) (int, error) {
	if !w.known {
		w.first = make([]byte, telling)
		if _, err := io.ReadFull(w.Conn, w.first); err != nil {
			return 0, err
		}
		if w.known = true; w.first[telling-1] == '{' {
			return 0, errPlain
		}
	}
	if len(w.first) > 0 {
		n := copy(p, w.first)
		w.first = w.first[n:]
		return n, nil
	}
	return w.Conn.Read(p)
}

// encrypt is the client's half of TLS, if id asks for it.
func (id Identity) encrypt(conn net.Conn, addr string) (net.Conn, error) {
	if id.TLS == nil {
		return conn, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	config := id.TLS.Clone()
	config.ServerName = host
	secure := encrypted{tls.Client(&wary{Conn: conn}, config), conn}
	err = secure.shake()
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errPlain):
		return nil, fmt.Errorf("%w: the client was started with -tls, the server without", ErrRefused)
	case errors.As(err, &untrusted):
		return nil, fmt.Errorf("%w: the server's certificate: %w", ErrRefused, untrusted.Err)
	case err != nil:
		return nil, fmt.Errorf("handshake of TLS: %w", firstReply(err))
	}
	return secure, nil
}

// decrypt is the server's half.
func (id Identity) decrypt(conn net.Conn) (net.Conn, error) {
	if id.TLS == nil {
		return conn, nil
	}
	secure := encrypted{tls.Server(&wary{Conn: conn}, id.TLS), conn}
	err := secure.shake()
	switch {
	case err == nil:
		return secure, nil
	case errors.Is(err, errPlain):
		return nil, id.refusePlainly(conn, "the server ("+id.Node+") was started with -tls, the client without")
	}
	linger(conn) // TLS has said why
	return nil, fmt.Errorf("handshake of TLS: %w", err)
}

// shake leaves the deadline where it fails: what follows is part of it.
func (e encrypted) shake() error {
	e.SetDeadline(time.Now().Add(handshakeTimeout))
	err := e.Handshake()
	if err == nil {
		e.SetDeadline(time.Time{})
	}
	return err
}

// refusePlainly says in a challenge without TLS why the connection is over.
func (id Identity) refusePlainly(conn net.Conn, why string) error {
	err := errors.Join(fmt.Errorf("%w: %s", ErrRefused, why), send(conn, challenge{Node: id.Node, Error: why}))
	linger(conn)
	return err
}

// linger lets the other side read what was said last, until the connection's
// deadline at most. To close a connection on
// which something has come that was not read is to reset it, and the last words
// may be lost with it (RFC 1122, 4.2.2.13).
func linger(conn net.Conn) {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	io.CopyN(io.Discard, conn, maxHandshake)
}

// untrusted turns what a server says of a client's certificate, which in TLS 1.3
// comes after the client's own handshake, into an error that says so.
func untrusted(err error) error {
	var remote *net.OpError
	if errors.As(err, &remote) && remote.Op == "remote error" && strings.Contains(remote.Err.Error(), "certificate") { // else a flipped bit, say
		return fmt.Errorf("%w: the server does not take the client's certificate: %w", ErrRefused, remote.Err)
	}
	return err
}
