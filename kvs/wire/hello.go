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
// A proof is HMAC-SHA256 under the run's token: it keeps third-party clients and servers of
// earlier runs from exchanging batches. Programs started by hand have no token; the
// exchange then proves nothing, but still compares versions and codecs.
//
// With -retry (service.Session), a new connection supersedes an earlier one: before
// it sends the welcome, the server ends the earlier connection and executes no more
// of its calls. The frames' seq numbers requests without gaps over all connections.
// The server answers an already executed request with its first reply. An instance
// names a store: if it changes, the client's records are lost. A process serves a store: if
// it changes, the store was opened again, and the replies to the client's pending calls are
// lost. Their outcome is unknown, and the server expects the calls after them.
const (
	protocol         = 8
	handshakeTimeout = 5 * time.Second
	maxHandshake     = 4 << 10 // bytes of one message
)

// Versions are the versions that the handshake compares.
var Versions = []string{fmt.Sprintf("wire %d", protocol), fmt.Sprintf("values %d", kvs.ValueFormat)}

// ErrRefused is wrapped by the errors of a refused handshake. Another attempt would be
// refused again.
var ErrRefused = errors.New("connection refused by handshake")

// errForeign reports that the peer is not a kvlab program.
var errForeign = errors.New("unknown protocol")

// message is any message of the handshake.
type message struct {
	Protocol int    `json:"protocol,omitempty"`
	Values   int    `json:"values,omitempty"` // kvs.ValueFormat
	Nonce    []byte `json:"nonce,omitempty"`
	Proof    []byte `json:"proof,omitempty"`
	Error    string `json:"error,omitempty"`
	Hello
}

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
	mac.Write(slices.Concat(nonces...))
	return mac.Sum(nil)
}

func newNonce() []byte { return []byte(rand.Text()) }

// greet performs the client's half of the handshake and returns the server's hello.
func (o Options) greet(conn net.Conn) (Hello, error) {
	conn.SetDeadline(time.Now().Add(handshakeTimeout))
	defer conn.SetDeadline(time.Time{})
	mine := newNonce()
	if err := send(conn, message{Protocol: protocol, Values: kvs.ValueFormat, Nonce: mine, Hello: o.Hello}); err != nil {
		return Hello{}, err
	}
	c, err := receive(conn)
	if err != nil {
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
	if err := send(conn, message{Proof: o.proof("client", c.Nonce, mine)}); err != nil {
		return Hello{}, err
	}
	w, err := receive(conn)
	if err != nil {
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
	h, err := receive(conn)
	if errors.Is(err, errTLS) {
		return Hello{}, o.refuseInClear(conn, fmt.Errorf("the client was started with -tls, the server (%s) without", o.Node))
	}
	if err != nil {
		return Hello{}, err
	}
	if why := o.objection(h); why != nil {
		return Hello{}, o.refuse(conn, why)
	}
	mine := newNonce()
	if err := send(conn, message{Hello: o.Hello, Nonce: mine, Proof: o.proof("server", h.Nonce, mine)}); err != nil {
		return Hello{}, err
	}
	a, err := receive(conn)
	if err != nil {
		return Hello{}, err
	}
	if !hmac.Equal(a.Proof, o.proof("client", mine, h.Nonce)) {
		return Hello{}, o.refuse(conn, fmt.Errorf("this server (%s) belongs to another run: the client's token differs", o.Node))
	}
	if attach != nil {
		conn.SetDeadline(time.Now().Add(2 * handshakeTimeout)) // attach may have to wait
		switch err := attach(h.Hello); {
		case errors.Is(err, service.ErrSuperseded):
			return Hello{}, err // the client may connect again
		case err != nil:
			return Hello{}, o.refuse(conn, err)
		}
	}
	return h.Hello, send(conn, message{})
}

// refuse sends the reason, and returns the server's error.
func (o Options) refuse(conn net.Conn, why error) error {
	return errors.Join(fmt.Errorf("%w: %w", ErrRefused, why), send(conn, message{Hello: Hello{Node: o.Node}, Error: why.Error()}))
}

// objection returns the server's reason to refuse a hello, or nil.
func (o Options) objection(h message) error {
	features, kinds := CheckCodec(h.Codec, h.Features), error(nil)
	if o.CheckKinds != nil {
		kinds = o.CheckKinds(h.Kinds)
	}
	switch {
	case h.Protocol != protocol:
		return fmt.Errorf("the server (%s) speaks protocol %d, the client %d: use binaries of one build", o.Node, protocol, h.Protocol)
	case h.Values != kvs.ValueFormat:
		return fmt.Errorf("the server (%s) knows value format %d, the client %d: use binaries of one build", o.Node, kvs.ValueFormat, h.Values)
	case h.Codec != o.Codec:
		return fmt.Errorf("the server (%s) was started with -codec %s, the client with -codec %s", o.Node, o.Codec, h.Codec)
	case features != nil:
		return features
	case kinds != nil:
		return fmt.Errorf("the server (%s): %w", o.Node, kinds)
	case h.Retry != (h.Session != service.Session{}):
		return errors.New("a client with -retry names its session, and no other client does")
	case h.Dedup && o.Null:
		return fmt.Errorf("the server (%s) has one value for all keys, which -dedup would send once: its replies would not have the right size", o.Node)
	case h.Cache && o.Unversioned != nil:
		return fmt.Errorf("the server (%s): -cache: %w", o.Node, o.Unversioned)
	case h.Transactions && (h.Dedup || h.Cache):
		return errors.New("a client with -txn has neither -dedup nor -cache")
	case h.Transactions && o.Untransactional != nil:
		return fmt.Errorf("the server (%s): -txn: %w", o.Node, o.Untransactional)
	case h.Lane < 0 || h.Lane >= service.MaxLanes:
		return fmt.Errorf("the client's connection has the number %d; want 0 to %d", h.Lane, service.MaxLanes-1)
	case len(h.Nonce) < 16:
		return errors.New("the client's nonce is too short")
	}
	return nil
}

// firstReplyError returns an error that suggests another program as the server, if the
// first message could not be read for such a reason.
func firstReplyError(err error) error {
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("it answers, but is no kvlab server, or one that hangs: no handshake within %v: %w", handshakeTimeout, err)
	case errors.As(err, &record):
		return fmt.Errorf("it answers, but is no kvlab server: it begins with %q", record.RecordHeader)
	case errors.Is(err, errForeign):
		return fmt.Errorf("it answers, but is no kvlab server: %w", err)
	}
	return err
}

func send(conn net.Conn, m message) error {
	sealed, err := seal(m)
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
func seal(m message) ([]byte, error) {
	body, err := json.Marshal(m)
	body = append(body, '\n')
	for slices.Contains([]byte{0x80, 21, 22}, byte(len(body)+sumLen)) { // see prefixLen
		body = append(body, '\n')
	}
	body = append(body, checksum(body)...)
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(body))), body...), err
}

func receive(conn net.Conn) (m message, err error) {
	var head [prefixLen]byte // the size, and the first byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return m, fmt.Errorf("handshake: receive: %w", err)
	}
	n := int(binary.LittleEndian.Uint16(head[:]))
	switch {
	case beginsTLS(head[:]):
		return m, errTLS
	case n < 1 || n > maxHandshake || head[2] != '{':
		return m, fmt.Errorf("%w: it begins with %q", errForeign, head)
	}
	body := make([]byte, n)
	body[0] = head[2]
	if _, err := io.ReadFull(conn, body[1:]); err != nil {
		return m, fmt.Errorf("handshake: receive %d bytes: %w", n, noEOF(err))
	}
	if m, err = open(body); err != nil {
		err = fmt.Errorf("handshake: receive: %w", err)
	}
	return m, err
}

// open checks a message's checksum and decodes it.
func open(body []byte) (m message, err error) {
	text := body[:max(len(body)-sumLen, 0)]
	if sum := body[len(text):]; string(sum) != checksum(text) {
		return m, fmt.Errorf("%w: a message's checksum is %q, computed %s", errFrame, sum, checksum(text))
	}
	err = json.Unmarshal(text, &m)
	return m, err
}

func checksum(text []byte) string { return fmt.Sprintf("#%08x", crc32.Checksum(text, castagnoli)) }
