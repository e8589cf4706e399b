package driver

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/wire"
)

// CheckForeign does the part of a Row's Check that foreign stores share: it refuses flags that
// only kvlab's servers understand, kinds that the store lacks, and settings that are not
// among the driver's.
func (o Options) CheckForeign(u Use, has func(kvs.Kind) bool, settings ...string) error {
	alone := func(flag string, is any, unset bool) error {
		return cli.Want(unset, flag, is, "the default: only kvlab's own servers understand it, and %s is none", o.Transport)
	}
	err := cmp.Or(alone("-retry", o.Retry, !o.Retry), alone("-dedup", o.Dedup, !o.Dedup), alone("-crc", o.CRC, !o.CRC), alone("-cache", &o.Cached, o.Cached == 0),
		alone("-codec", o.Codec, o.Codec == wire.Codecs[0]))
	if err != nil {
		return err
	}
	var lacks, without []string
	for _, kind := range u.Kinds {
		if !has(kind) {
			lacks, without = append(lacks, "no "+kind.String()), append(without, leavesOut[kind])
		}
	}
	switch {
	case lacks == nil:
	case u.Trace == "":
		return fmt.Errorf("-workload: %s has %s: want a workload without it", o.Transport, strings.Join(lacks, " and "))
	default:
		return fmt.Errorf("-replay %s: %s has %s: compile the trace again with kvsplot trace import %s", u.Trace, o.Transport, strings.Join(lacks, " and "), strings.Join(without, " "))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Settings)) {
		switch value := o.Settings[name]; {
		case !slices.Contains(settings, name):
			return fmt.Errorf("setting %s: %s has none of this name%s; want %s",
				name, o.Transport, cli.DidYouMean(name, "", settings), cmp.Or(strings.Join(settings, ", "), "none"))
		case name == "tls" && value != "on" && value != "off":
			return fmt.Errorf("setting tls: want on or off, not %q", value)
		case name == CountsSetting && value != NoCounts:
			return fmt.Errorf("setting counts: want %s, or leave it out, not %q", NoCounts, value)
		}
	}
	switch {
	case o.Settings["user"] != "" && o.Settings["password"] == "":
		return errors.New("setting user: want the setting password with it")
	case o.Settings["ca"] != "" && o.Settings["tls"] != "on":
		return errors.New("setting ca: want tls=on with it, or a URL such as rediss://: without TLS no certificate is looked at")
	}
	return nil
}

// CheckOneServer returns an error if there are transactions and several servers: none of the
// store's own reach over them.
func (o Options) CheckOneServer(u Use) error {
	return cli.Want(u.Txn == 0 || len(o.Hosts) == 1, "-txn", u.Txn, "one server of %s: its transactions do not reach over %d", o.Transport, len(o.Hosts))
}

// leavesOut has the flags with which kvsplot trace import compiles a trace without a kind. Every
// store has the other kinds of a trace.
var leavesOut = map[kvs.Kind]string{kvs.ReadModifyWrite: "-put-only", kvs.Delete: "-no-deletes"}

// MisfitError says that a server answers, but has another form than the driver's settings say.
// Waiting does not help.
type MisfitError struct {
	Server string // its address; "" where another error names it
	Text   string
}

func (e *MisfitError) Error() string {
	if e.Server == "" {
		return e.Text
	}
	return "server " + e.Server + ": " + e.Text
}

// CountsSetting is the setting of every driver that counts; NoCounts says that the store's
// counters are not asked.
const (
	CountsSetting = "counts"
	NoCounts      = "none"
)

// connectTimeout is how long Connect may take to connect, and meet to speak.
const connectTimeout = 5 * time.Second

// Connect connects to a foreign store's server, and lets meet speak with it first. Its errors
// name the server's address.
func (o Options) Connect(ctx context.Context, server int, meet func(net.Conn) error) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTimeout}
	raw, err := dialer.DialContext(ctx, Network(o.Hosts[server]), o.Hosts[server])
	if err != nil {
		return nil, err // it names the address
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	if err = o.SetBuffers(raw); err == nil {
		err = raw.SetDeadline(time.Now().Add(connectTimeout))
	}
	socket := raw
	config, tlsErr := o.TLSOf(server)
	if err = cmp.Or(err, tlsErr); err == nil && config != nil {
		socket = tls.Client(raw, config) // the first byte begins the handshake
	}
	if err == nil {
		err = meet(socket)
	}
	if err == nil {
		err = socket.SetDeadline(time.Time{})
	}
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		socket.Close()
		return nil, fmt.Errorf("server %s: %w", o.Hosts[server], err)
	}
	return socket, nil
}

// Network returns the network of a foreign store's address: a Unix socket's path begins with /.
func Network(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix"
	}
	return "tcp"
}

// TLSOf returns the TLS configuration by which the settings tls and ca say that a server is
// reached; nil without TLS.
func (o Options) TLSOf(server int) (*tls.Config, error) {
	if o.Settings["tls"] != "on" {
		return nil, nil
	}
	host, _, _ := net.SplitHostPort(o.Hosts[server]) // "" of a Unix socket
	config := &tls.Config{ServerName: cmp.Or(host, "localhost")}
	if text := o.Settings["ca"]; text != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(text)) {
			return nil, errors.New("setting ca: it has no certificate in PEM")
		}
	}
	return config, nil
}

// Instances are a foreign store's servers as a client first met them. The zero value has met
// none. It is safe for concurrent use.
type Instances struct {
	mu  sync.Mutex
	met map[string]string // by address; guarded by mu
}

// Meet returns a *wire.RestartedError if the server at an address is not the instance that it
// was when it was first met.
func (i *Instances) Meet(addr, instance string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if was, ok := i.met[addr]; ok && was != instance {
		return &wire.RestartedError{Node: addr, Was: was, Is: instance}
	}
	if i.met == nil {
		i.met = make(map[string]string)
	}
	i.met[addr] = instance
	return nil
}

// ExplainForeign explains an error as Driver.Explain does, for a foreign store's driver: it
// connects again if the error says that a connection broke.
func ExplainForeign(ctx context.Context, err error, dial func(context.Context) (net.Conn, error)) error {
	var refused *OpError
	if errors.As(err, &refused) || errors.Is(err, kvs.ErrMalformed) || errors.Is(err, wire.ErrTimeout) {
		return nil
	}
	return Restarted(ctx, func(ctx context.Context) error {
		socket, err := dial(ctx)
		if err == nil {
			socket.Close()
		}
		return err
	})
}

// Meter counts the bytes that a socket carries. If one goroutine makes all calls on the
// socket, it may take the bytes of each call.
type Meter struct {
	net.Conn
	sent, received atomic.Int64
}

func (m *Meter) Read(b []byte) (n int, err error) {
	n, err = m.Conn.Read(b)
	m.received.Add(int64(n))
	return n, err
}

func (m *Meter) Write(b []byte) (n int, err error) {
	m.sent.Add(int64(len(b))) // before the peer can answer
	return m.Conn.Write(b)
}

// Take returns the bytes since the last Take.
func (m *Meter) Take() (sent, received int) { return int(m.sent.Swap(0)), int(m.received.Swap(0)) }
