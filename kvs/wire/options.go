package wire

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/service"
)

// Hello holds what one end of a connection sends to the other in the handshake.
type Hello struct {
	Node  string `json:"node"`  // its name in reports
	Codec string `json:"codec"` // one of Codecs

	// Of a client.
	Features
	Lane      int               `json:"number,omitzero"` // the connection's, among the client's to this server; see service.Conn
	Session   service.Session   `json:"lane,omitzero"`   // with Retry; Dial sets Connection, Next, Unanswered and Process
	Placement service.Placement `json:"shards,omitzero"` // how it spreads the keys
	Kinds     []kvs.Kind        `json:"kinds,omitempty"` // of its operations

	// Of a server.
	Instance string `json:"instance,omitempty"` // its store's random name; Accept sets it
	Process  string `json:"process,omitempty"`  // the random name of the process that serves the store; Accept sets it
	Null     bool   `json:"null,omitempty"`     // it has no store, and returns one value for every key
}

// Options configure one end of a connection. Hello is sent to the other end; the rest
// is not.
type Options struct {
	Hello
	Token string // the run's secret; empty without a launcher

	// TLS encrypts the connection, including the handshake; nil does not. Package
	// kvs/certs makes the configuration of each end.
	TLS *tls.Config

	SocketBuffer int // bytes of the kernel's send and receive buffers each; 0 leaves them to the kernel

	// Of a client.

	// Shared combines the frames of goroutines that send concurrently.
	Shared bool

	// CallTimeout limits a call. A late call closes its connection, and every call on
	// it fails with ErrTimeout; 0 sets no limit. Detection takes up to a sixteenth of
	// the limit, or 100 ms, longer, whichever is less.
	CallTimeout time.Duration

	// Retried makes the client reconnect when its connection breaks or gets no reply
	// within half of the CallTimeout; nil does not. The client resends the calls without
	// a reply, in order; the server executes each once. A call still ends after the
	// CallTimeout, counted from its first send. Each reconnect calls Retried with the
	// number of resent calls and the reason of the break. Dial sets Retry accordingly.
	//
	// If another process has taken the server's place with its store, the calls without a
	// reply end with ErrUnknown instead, and later calls go to that process.
	Retried func(calls int, cause error)

	// Replaced, unless nil, is called with Retried at the first reply of a process that has
	// taken another one's place.
	Replaced func()

	// KnownInstance is the Instance of the client's earlier connection. Any other
	// instance causes a RestartedError; "" accepts any.
	KnownInstance string

	// Of a server.

	Limits Limits // of each connection

	// CheckKinds refuses a client of whose kinds the server lacks one; nil refuses none.
	CheckKinds func([]kvs.Kind) error

	// Unversioned says why the server refuses clients with a Cache; nil: its engine has
	// versions.
	Unversioned error

	// Untransactional says why the server refuses clients with Transactions; nil: its engine
	// can execute them.
	Untransactional error
}

// maxSocketBuffer is the largest SocketBuffer.
const maxSocketBuffer = 1 << 30

// CheckSocketBuffer returns an error that names the flag unless bytes is valid.
func CheckSocketBuffer(bytes int) error {
	return cli.Want(bytes >= 0 && bytes <= maxSocketBuffer, "-socket-buffer", bytes, "1 to %d bytes, or 0 for the kernel's own choice", maxSocketBuffer)
}

// SetBuffers sets the socket's buffers. The kernel caps them at net.core.rmem_max
// and wmem_max (socket(7)).
func (o Options) SetBuffers(conn net.Conn) error {
	tcp, ok := conn.(interface {
		SetReadBuffer(int) error
		SetWriteBuffer(int) error
	})
	if !ok || o.SocketBuffer == 0 {
		return nil
	}
	if err := errors.Join(tcp.SetReadBuffer(o.SocketBuffer), tcp.SetWriteBuffer(o.SocketBuffer)); err != nil {
		return fmt.Errorf("socket buffers of %d bytes: %w", o.SocketBuffer, err)
	}
	return nil
}

// Limits bound the requests of one connection. A zero field sets no limit beyond
// kvs.MaxBody. The comments name the flags.
type Limits struct {
	Frame   int           // -max-frame: bytes of a request
	Batch   int           // -max-batch: operations of a request
	Request time.Duration // -request-timeout: from a request's first byte to its reply's last; enforced after at most twice the time
	Idle    time.Duration // -idle-timeout: between two requests; enforced at most Request later
}

// DefaultLimits permit every run of kvlab's client, such as the labs' batches of
// 258,944 operations, and a client that waits while the others load.
func DefaultLimits() Limits {
	return Limits{Frame: kvs.MaxBody, Batch: 1 << 20, Request: time.Minute, Idle: time.Hour}
}

// Validate returns an error that names the first wrong flag and its right form.
func (l Limits) Validate() error {
	return cmp.Or(
		cli.Want(l.Frame >= 1 && l.Frame <= kvs.MaxBody, "-max-frame", l.Frame, "1 to %d bytes", kvs.MaxBody),
		cli.Want(l.Batch >= 1, "-max-batch", l.Batch, "at least 1 operation"),
		cli.Want(l.Request >= time.Second, "-request-timeout", l.Request, "at least 1s"),
		cli.Want(l.Idle >= time.Second, "-idle-timeout", l.Idle, "at least 1s"))
}

// errLimit is wrapped by the errors that a server's Limits cause. The client receives
// them as the call's error.
var errLimit = errors.New("over a limit of the server")

// check returns an error if a request's size or number of operations is over a limit.
func (l Limits) check(size, ops int) error {
	switch {
	case l.Frame > 0 && size > l.Frame:
		return fmt.Errorf("%w: a request of %d bytes; at most %d (-max-frame)", errLimit, size, l.Frame)
	case l.Batch > 0 && ops > l.Batch:
		return fmt.Errorf("%w: a batch of %d operations; at most %d (-max-batch)", errLimit, ops, l.Batch)
	}
	return nil
}
