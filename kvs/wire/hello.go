package wire

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/service"
)

// A handshake precedes the first frame. Its messages are small JSON objects, each
// after its length in two bytes and before its CRC-32C.
//
//	client  hello      versions, nonce, and the client's Hello
//	server  challenge  nonce, proof(client's nonce), and the server's Hello; or an error
//	client  answer     proof(server's nonce)
//	server  welcome    nothing; or an error
//
// A proof is HMAC-SHA256 under the run's token: it keeps strangers and servers of
// earlier runs from exchanging batches. Programs started by hand have no token; the
// exchange then proves nothing, but still compares versions and codecs.
//
// With -retry (service.Session), a new connection supersedes an earlier one: before
// it sends the welcome, the server ends the earlier connection and executes no more
// of its calls. The frames' seq numbers requests without gaps over all connections.
// The server answers an already executed request with its first reply. An instance
// names a store: if it changes, the client's records are lost.
const (
	protocol         = 4
	handshakeTimeout = 5 * time.Second
	maxHandshake     = 4 << 10 // bytes of one message
)

// ErrRefused is wrapped by the errors of a refused handshake. Another attempt would be
// refused again.
var ErrRefused = errors.New("connection refused by handshake")

// The errors for a peer that is not a kvlab program: it speaks another protocol, or
// sends nothing.
var (
	errForeign = errors.New("unknown protocol")
	errSilent  = errors.New("no handshake")
)

// The messages of the handshake.
type (
	hello struct {
		Protocol int    `json:"protocol"`
		Values   int    `json:"values"` // kvs.ValueFormat
		Nonce    []byte `json:"nonce"`
		Hello
	}
	challenge struct {
		Hello
		Nonce []byte `json:"nonce"`
		Proof []byte `json:"proof"`
		Error string `json:"error,omitempty"`
	}
	answer struct {
		Proof []byte `json:"proof"`
	}
	welcome struct {
		Error string `json:"error,omitempty"`
	}
)

// RestartedError reports that a server was restarted or replaced: its store is not
// the one that the client loaded.
type RestartedError struct {
	Node string // the server's name
	Was  string // the known instance
	Is   string // the answering instance
}

// Error names the server and both instances.
func (e *RestartedError) Error() string {
	return fmt.Sprintf("server restarted: %s answers as instance %s, and was %s: its store is not the one that was filled", e.Node, e.Is, e.Was)
}

func (o Options) proof(side string, nonces ...[]byte) []byte {
	mac := hmac.New(sha256.New, []byte(o.Token))
	mac.Write([]byte(side))
	for _, nonce := range nonces {
		mac.Write(nonce)
	}
	return mac.Sum(nil)
}

func newNonce() []byte {
	nonce := make([]byte, 16)
	rand.Read(nonce) // never fails: crypto/rand ends the process first
	return nonce
}

// greet performs the client's half of the handshake and returns the server's hello.
func (o Options) greet(conn net.Conn) (Hello, error) {
	conn.SetDeadline(time.Now().Add(handshakeTimeout))
	defer conn.SetDeadline(time.Time{})
	mine := newNonce()
	if err := send(conn, hello{Protocol: protocol, Values: kvs.ValueFormat, Nonce: mine, Hello: o.Hello}); err != nil {
		return Hello{}, err
	}
	var c challenge
	if err := receive(conn, &c); err != nil {
		return Hello{}, firstReplyError(err)
	}
	if c.Error != "" {
		return Hello{}, fmt.Errorf("%w: %s", ErrRefused, c.Error)
	}
	if !hmac.Equal(c.Proof, o.proof("server", mine, c.Nonce)) {
		return Hello{}, fmt.Errorf("%w: the server (%s) belongs to another run: its token differs", ErrRefused, c.Node)
	}
	if o.KnownInstance != "" && o.KnownInstance != c.Instance {
		return Hello{}, &RestartedError{Node: c.Node, Was: o.KnownInstance, Is: c.Instance}
	}
	if err := send(conn, answer{Proof: o.proof("client", c.Nonce, mine)}); err != nil {
		return Hello{}, err
	}
	var w welcome
	if err := receive(conn, &w); err != nil {
		return Hello{}, err
	}
	if w.Error != "" {
		return Hello{}, fmt.Errorf("%w: %s", ErrRefused, w.Error)
	}
	return c.Hello, nil
}

// admit performs the server's half of the handshake and returns the client's hello.
// After the client has proved the token, admit calls attach, unless that is nil, to
// open the session.
func (o Options) admit(conn net.Conn, attach func(client Hello) error) (Hello, error) {
	conn.SetDeadline(time.Now().Add(handshakeTimeout))
	defer conn.SetDeadline(time.Time{})
	var h hello
	if err := receive(conn, &h); errors.Is(err, errTLS) {
		return Hello{}, o.refuseInClear(conn, "the client was started with -tls, the server ("+o.Node+") without")
	} else if err != nil {
		return Hello{}, err
	}
	if why := o.objection(h); why != "" {
		return Hello{}, refused(conn, errors.New(why), challenge{Hello: Hello{Node: o.Node}, Error: why})
	}
	mine := newNonce()
	if err := send(conn, challenge{Hello: o.Hello, Nonce: mine, Proof: o.proof("server", h.Nonce, mine)}); err != nil {
		return Hello{}, err
	}
	var a answer
	if err := receive(conn, &a); err != nil {
		return Hello{}, err
	}
	if !hmac.Equal(a.Proof, o.proof("client", mine, h.Nonce)) {
		why := "this server (" + o.Node + ") belongs to another run: the client's token differs"
		return Hello{}, refused(conn, errors.New(why), welcome{Error: why})
	}
	if attach != nil {
		conn.SetDeadline(time.Now().Add(2 * handshakeTimeout)) // attach may have to wait
		switch err := attach(h.Hello); {
		case errors.Is(err, service.ErrSuperseded):
			return Hello{}, err // the client may connect again
		case err != nil:
			return Hello{}, refused(conn, err, welcome{Error: err.Error()})
		}
	}
	return h.Hello, send(conn, welcome{})
}

// refused sends the message with the reason, and returns the server's error.
func refused(conn net.Conn, why error, message any) error {
	return errors.Join(fmt.Errorf("%w: %w", ErrRefused, why), send(conn, message))
}

// objection returns the server's reason to refuse a hello; "" accepts it.
func (o Options) objection(h hello) string {
	features := CheckCodec(h.Codec, h.Features)
	switch {
	case h.Protocol != protocol:
		return fmt.Sprintf("the server (%s) speaks protocol %d, the client %d: use binaries of one build", o.Node, protocol, h.Protocol)
	case h.Values != kvs.ValueFormat:
		return fmt.Sprintf("the server (%s) knows value format %d, the client %d: use binaries of one build", o.Node, kvs.ValueFormat, h.Values)
	case h.Codec != o.Codec:
		return fmt.Sprintf("the server (%s) was started with -codec %s, the client with -codec %s", o.Node, o.Codec, h.Codec)
	case features != nil:
		return features.Error()
	case h.Retry != (h.Session != service.Session{}):
		return "a client with -retry names its session, and no other client does"
	case h.Dedup && o.Null:
		return "the server (" + o.Node + ") has one value for all keys, which -dedup would send once: its replies would not have the right size"
	case len(h.Nonce) < 16:
		return "the client's nonce is too short"
	}
	return ""
}

// firstReplyError returns an error that suggests another program as the server, if the
// first message could not be read for such a reason.
func firstReplyError(err error) error {
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w within %v: %w", errSilent, handshakeTimeout, err)
	case errors.As(err, &record):
		return fmt.Errorf("%w: it begins with %q", errForeign, record.RecordHeader[:])
	}
	return err
}

func send(conn net.Conn, message any) error {
	sealed, err := seal(message)
	if err == nil {
		_, err = conn.Write(sealed)
	}
	if err != nil {
		return fmt.Errorf("handshake: send: %w", err)
	}
	return nil
}

// sumLen is the length of a message's checksum.
const sumLen = len("#01234567")

// seal encodes a message. Its newline makes servers of text protocols (HTTP, Redis)
// answer at once, so that the client can recognize them.
func seal(message any) ([]byte, error) {
	body, err := json.Marshal(message)
	body = append(body, '\n')
	for slices.Contains([]byte{0x80, 21, 22}, byte(len(body)+sumLen)) { // see prefixLen
		body = append(body, '\n')
	}
	body = fmt.Appendf(body, "#%08x", crc32.Checksum(body, castagnoli))
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(body))), body...), err
}

func receive(conn net.Conn, message any) error {
	var head [prefixLen]byte // the size, and the first byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return fmt.Errorf("handshake: receive: %w", err)
	}
	n := int(binary.LittleEndian.Uint16(head[:]))
	switch {
	case beginsTLS(head[:]):
		return errTLS
	case n < 1 || n > maxHandshake || head[2] != '{':
		return fmt.Errorf("%w: it begins with %q", errForeign, head)
	}
	body := make([]byte, n)
	body[0] = head[2]
	if _, err := io.ReadFull(conn, body[1:]); err != nil {
		return fmt.Errorf("handshake: receive %d bytes: %w", n, noEOF(err))
	}
	body, err := open(body)
	if err == nil {
		err = json.Unmarshal(body, message)
	}
	if err != nil {
		return fmt.Errorf("handshake: receive: %w", err)
	}
	return nil
}

// open checks a message's checksum and removes it. Peers of the first protocols send
// none; objection refuses them by their protocol number.
func open(body []byte) ([]byte, error) {
	end := len(body) - sumLen
	if end < 0 || body[end] != '#' {
		return body, nil
	}
	if sum := fmt.Sprintf("#%08x", crc32.Checksum(body[:end], castagnoli)); sum != string(body[end:]) {
		return nil, fmt.Errorf("%w: a message's checksum is %s, computed %s", errFrame, body[end:], sum)
	}
	return body[:end], nil
}
