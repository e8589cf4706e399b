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

// tlsConn is a connection under TLS. Its Close closes the socket at once. tls.Conn's
// Close first writes an alert, which takes up to 5 s if the peer does not read.
type tlsConn struct {
	*tls.Conn
	below net.Conn
}

func (c tlsConn) Close() error { return c.below.Close() }

// handshake leaves the deadline in place: it also limits a refusal. greet and admit set
// theirs.
func (c tlsConn) handshake() error {
	c.SetDeadline(time.Now().Add(handshakeTimeout))
	return c.Handshake()
}

// errTLS reports that only the other side uses TLS.
var errTLS = errors.New("the other side speaks TLS")

// A handshake without TLS begins with a length in two bytes and a brace. TLS begins
// with a record of type 22 and version 3 (RFC 8446, 5.1). The first prefixLen bytes
// distinguish the two; seal avoids the lengths that crypto/tls takes for a record's type.
const prefixLen = 3

func beginsTLS(prefix []byte) bool { return prefix[0] == 22 && prefix[1] == 3 && prefix[2] != '{' }

// isClear reports whether TLS failed because the other side began a handshake without it.
func isClear(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) && record.RecordHeader[prefixLen-1] == '{'
}

// encrypt performs the client's half of the TLS handshake, if the options have TLS.
func (o Options) encrypt(conn net.Conn, addr string) (net.Conn, error) {
	if o.TLS == nil {
		return conn, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	config := o.TLS.Clone()
	config.ServerName = host
	secure := tlsConn{tls.Client(conn, config), conn}
	err = secure.handshake()
	var untrusted *tls.CertificateVerificationError
	switch {
	case isClear(err):
		return nil, fmt.Errorf("%w: the client was started with -tls, the server without", ErrRefused)
	case errors.As(err, &untrusted):
		return nil, fmt.Errorf("%w: the server's certificate: %w", ErrRefused, untrusted.Err)
	case err != nil:
		return nil, firstReplyError(fmt.Errorf("handshake of TLS: %w", err))
	}
	return secure, nil
}

// decrypt performs the server's half.
func (o Options) decrypt(conn net.Conn) (net.Conn, error) {
	if o.TLS == nil {
		return conn, nil
	}
	secure := tlsConn{tls.Server(conn, o.TLS), conn}
	err := secure.handshake()
	switch {
	case err == nil:
		return secure, nil
	case isClear(err):
		return nil, o.refuseInClear(conn, fmt.Errorf("the server (%s) was started with -tls, the client without", o.Node))
	}
	linger(conn) // TLS has said why
	return nil, fmt.Errorf("handshake of TLS: %w", err)
}

// refuseInClear returns refuse without TLS.
func (o Options) refuseInClear(conn net.Conn, why error) error {
	err := o.refuse(conn, why)
	linger(conn)
	return err
}

// linger gives the other side time to read the last message, at most until the
// connection's deadline. Closing a connection with unread bytes resets it, and the last
// message may be lost (RFC 1122, 4.2.2.13).
func linger(conn net.Conn) {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	io.CopyN(io.Discard, conn, maxHandshake)
}

// certificateRefused returns an ErrRefused if the server has refused the client's
// certificate. In TLS 1.3 the client receives that alert after its own handshake.
func certificateRefused(err error) error {
	var remote *net.OpError
	if errors.As(err, &remote) && remote.Op == "remote error" && strings.Contains(remote.Err.Error(), "certificate") { // other alerts may be flipped bits
		return fmt.Errorf("%w: the server does not take the client's certificate: %w", ErrRefused, remote.Err)
	}
	return err
}
