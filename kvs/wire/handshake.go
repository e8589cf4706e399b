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
	"time"

	"kvlab/kvs"
)

// Before the first frame, client and server shake hands: three small JSON
// messages, each behind its length in two bytes, and with its CRC-32C at its end.
//
//	client  hello      protocol, build, codec, node name, nonce; its lane and shards
//	server  challenge  node name, nonce, proof(client's nonce), instance  or an error
//	client  answer     proof(server's nonce)
//	server  welcome    nothing                                            or an error
//
// A proof is HMAC-SHA256 under the run's token, so that neither a stranger nor
// a stale server of an earlier run gets as far as a batch. Without a token on
// both sides, as when they are started by hand, the same exchange proves
// nothing and still compares protocol, build and codec.
//
// A lane (kvs.Lane, -retry) is a connection that takes the place of others: before
// the welcome the server has ended the one before it, and has nothing of that left
// to apply. The requests of a lane are numbered in the frames' seq over all its
// connections, without gaps; one that was applied before is answered with the reply
// of then. The instance is the store's: another one is not what the client filled.
const (
	protocol         = 3
	handshakeTimeout = 5 * time.Second
	maxHandshake     = 4 << 10 // bytes of one message
)

// ErrRefused is wrapped by every error that says the other side would not
// have the connection; a new attempt would meet the same answer.
var ErrRefused = errors.New("connection refused by handshake")

// Why the other side is no kvlab program: it speaks another protocol, or waits
// for the other side to speak first.
var (
	errForeign = errors.New("unknown protocol")
	errSilent  = errors.New("no handshake")
)

// firstReply says of a server's first message, which could not be read, whether
// the server is another program.
func firstReply(err error) error {
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w within %v: %w", errSilent, handshakeTimeout, err)
	case errors.As(err, &record):
		return fmt.Errorf("%w: it begins with %q", errForeign, record.RecordHeader[:])
	}
	return err
}

type hello struct {
	Protocol int    `json:"protocol"`
	Codec    string `json:"codec"`
	Node     string `json:"node"`
	Nonce    []byte `json:"nonce"`
	Build    string `json:"build,omitempty"`
	Options
	Lane   kvs.Lane   `json:"lane,omitzero"`
	Shards kvs.Shards `json:"shards,omitzero"`
}

type challenge struct {
	Node     string `json:"node"`
	Nonce    []byte `json:"nonce"`
	Proof    []byte `json:"proof"`
	Instance string `json:"instance"`
	Null     bool   `json:"null,omitempty"`
	Error    string `json:"error,omitempty"`
}

type answer struct {
	Proof []byte `json:"proof"`
}

type welcome struct {
	Error string `json:"error,omitempty"`
}

// Options are what a client may ask of a server for its connection; of the
// binary codec only.
type Options struct {
	Coalesce bool `json:"coalesce,omitempty"` // a value that a reply repeats is sent once
	CRC      bool `json:"crc,omitempty"`      // every body carries a checksum, both ways
}

// Identity is how a process presents itself in the handshake.
type Identity struct {
	Node    string // its name in reports
	Codec   string // that it speaks: one of Codecs
	Token   string // the run's secret; empty without a launcher
	Options        // of a client
	Null    bool   // of a server: it has no store, and gives the value of any key for every one
	Link           // of this end; the other end is not told
	Limits  Limits // of a server, for each connection; the client is not told

	// TLS has all that travels encrypted, this handshake too; nil leaves it in
	// clear. Either end has its own, as package kvs/certs makes them.
	TLS *tls.Config

	// Instance is random, a server's store's. Of a client it is the one that it met
	// before: another ends in a RestartedError; "" takes any.
	Instance string
	Lane     kvs.Lane // of a client with Retries: but for its Connection, Next and Unanswered; of others the zero Lane
	Retries  *Retries // of a client: makes its connections lanes; nil does not

	Shards kvs.Shards // of a client: how it spreads the keys
}

// RestartedError is a server that came back as another process, or that another
// has taken the place of: its store is not the one that was filled.
type RestartedError struct {
	Node string // the server's name
	Was  string // the instance that was known
	Is   string // the instance that answers
}

// Error says which server, and how that is known.
func (e *RestartedError) Error() string {
	return fmt.Sprintf("server restarted: %s answers as instance %s, and was %s: its store is not the one that was filled", e.Node, e.Is, e.Was)
}

func (id Identity) proof(side string, nonces ...[]byte) []byte {
	mac := hmac.New(sha256.New, []byte(id.Token))
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

// greet is the client's half; it returns who the server is, but for the token.
func (id Identity) greet(conn net.Conn) (Identity, error) {
	conn.SetDeadline(time.Now().Add(handshakeTimeout))
	defer conn.SetDeadline(time.Time{})
	mine := newNonce()
	if err := send(conn, hello{Protocol: protocol, Codec: id.Codec, Node: id.Node, Nonce: mine, Build: build, Options: id.Options, Lane: id.Lane, Shards: id.Shards}); err != nil {
		return Identity{}, err
	}
	var c challenge
	if err := receive(conn, &c); err != nil {
		return Identity{}, firstReply(err)
	}
	if c.Error != "" {
		return Identity{}, fmt.Errorf("%w: %s", ErrRefused, c.Error)
	}
	if !hmac.Equal(c.Proof, id.proof("server", mine, c.Nonce)) {
		return Identity{}, fmt.Errorf("%w: the server (%s) belongs to another run: its token differs", ErrRefused, c.Node)
	}
	if id.Instance != "" && id.Instance != c.Instance {
		return Identity{}, &RestartedError{Node: c.Node, Was: id.Instance, Is: c.Instance}
	}
	if err := send(conn, answer{Proof: id.proof("client", c.Nonce, mine)}); err != nil {
		return Identity{}, err
	}
	var w welcome
	if err := receive(conn, &w); err != nil {
		return Identity{}, err
	}
	if w.Error != "" {
		return Identity{}, fmt.Errorf("%w: %s", ErrRefused, w.Error)
	}
	return Identity{Node: c.Node, Codec: id.Codec, Null: c.Null, Instance: c.Instance}, nil
}

// admit is the server's half; it returns who the client is, but for the token.
// attach opens the session of a client that has proved the token; nil opens none.
func (id Identity) admit(conn net.Conn, attach func(client Identity) error) (Identity, error) {
	conn.SetDeadline(time.Now().Add(handshakeTimeout))
	defer conn.SetDeadline(time.Time{})
	var h hello
	if err := receive(conn, &h); errors.Is(err, errTLS) {
		return Identity{}, id.refusePlainly(conn, "the client was started with -tls, the server ("+id.Node+") without")
	} else if err != nil {
		return Identity{}, err
	}
	if why := id.objection(h); why != "" {
		return Identity{}, errors.Join(fmt.Errorf("%w: %s", ErrRefused, why), send(conn, challenge{Node: id.Node, Error: why}))
	}
	mine := newNonce()
	if err := send(conn, challenge{Node: id.Node, Nonce: mine, Proof: id.proof("server", h.Nonce, mine), Instance: id.Instance, Null: id.Null}); err != nil {
		return Identity{}, err
	}
	var a answer
	if err := receive(conn, &a); err != nil {
		return Identity{}, err
	}
	if !hmac.Equal(a.Proof, id.proof("client", mine, h.Nonce)) {
		why := "this server (" + id.Node + ") belongs to another run: the client's token differs"
		return Identity{}, errors.Join(fmt.Errorf("%w: %s", ErrRefused, why), send(conn, welcome{Error: why}))
	}
	peer := Identity{Node: h.Node, Codec: h.Codec, Options: h.Options, Lane: h.Lane, Shards: h.Shards}
	if attach != nil {
		conn.SetDeadline(time.Now().Add(2 * handshakeTimeout)) // it may have to wait
		switch err := attach(peer); {
		case errors.Is(err, kvs.ErrSuperseded):
			return Identity{}, err // the client may come again
		case err != nil:
			return Identity{}, errors.Join(fmt.Errorf("%w: %w", ErrRefused, err), send(conn, welcome{Error: err.Error()}))
		}
	}
	return peer, send(conn, welcome{})
}

// objection is what the server has against a hello, "" for nothing.
func (id Identity) objection(h hello) string {
	var features error
	if h.Codec != RawCodec {
		features = CheckCodec(h.Codec, Features{h.Options, h.Lane != kvs.Lane{}})
	}
	switch {
	case h.Protocol != protocol:
		return fmt.Sprintf("the server (%s) speaks protocol %d, the client %d: use binaries of one build", id.Node, protocol, h.Protocol)
	case h.Build != build && h.Build != "" && build != "":
		return fmt.Sprintf("the server (%s) was built from commit %s, the client from %s: use binaries of one build", id.Node, build, h.Build)
	case h.Codec != id.Codec:
		return fmt.Sprintf("the server (%s) was started with -codec %s, the client with -codec %s", id.Node, id.Codec, h.Codec)
	case features != nil:
		return features.Error()
	case h.Coalesce && id.Null:
		return "the server (" + id.Node + ") has one value for all keys, which -coalesce would send once: its replies would not have the right size"
	case len(h.Nonce) < 16:
		return "the client's nonce is too short"
	}
	return ""
}

func send(conn net.Conn, message any) error {
	whole, err := seal(message)
	if err == nil {
		_, err = conn.Write(whole)
	}
	if err != nil {
		return fmt.Errorf("handshake: send: %w", err)
	}
	return nil
}

// seal is a message as it goes over the wire. The line's end has servers of text
// protocols (HTTP, Redis) answer at once, so that the client learns what they are.
func seal(message any) ([]byte, error) {
	body, err := json.Marshal(message)
	body = append(body, '\n')
	body = fmt.Appendf(body, "#%08x", crc32.Checksum(body, castagnoli))
	return append(binary.LittleEndian.AppendUint16(nil, uint16(len(body))), body...), err
}

func receive(conn net.Conn, message any) error {
	var head [telling]byte // the size, and the first byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return fmt.Errorf("handshake: receive: %w", err)
	}
	n := int(binary.LittleEndian.Uint16(head[:]))
	switch {
	case beginsTLS(head[:]):
		return errTLS
	case n < 1 || n > maxHandshake:
		return fmt.Errorf("%w: it begins with %q", errForeign, head)
	}
	body := make([]byte, n)
	body[0] = head[2]
	if _, err := io.ReadFull(conn, body[1:]); err != nil {
		return fmt.Errorf("handshake: receive %d bytes: %w", n, noEOF(err))
	}
	body, err := open(body)
	if err != nil {
		return fmt.Errorf("handshake: receive: %w", err)
	}
	if err := json.Unmarshal(body, message); err != nil {
		return fmt.Errorf("%w: a message of %d bytes: %w", errForeign, n, err)
	}
	return nil
}

// open cuts a message's sum off and compares it. Earlier protocols had none; what
// is to be said of them stands in the message.
func open(body []byte) ([]byte, error) {
	const length = len("#01234567")
	end := len(body) - length
	if end < 0 || body[end] != '#' {
		return body, nil
	}
	if sum := fmt.Sprintf("#%08x", crc32.Checksum(body[:end], castagnoli)); sum != string(body[end:]) {
		return nil, fmt.Errorf("%w: a message's sum is %s, computed %s", ErrFrame, body[end:], sum)
	}
	return body[:end], nil
}
