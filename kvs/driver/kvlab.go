package driver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/rpc"
	"slices"
	"sync"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// network connects to kvlab's servers by TCP.
type network struct {
	options Options
	use     Use
	client  string       // random, of this client's run
	cache   *cache.Store // nil without -cache

	mu        sync.Mutex
	instances []string         // of the servers, as the first Dial of each met them; guarded by mu
	retries   *metrics.Retries // nil when no connection broke; guarded by mu
	replies   []time.Time      // as Info.FirstReplies; guarded by mu
}

// ErrUnknown is the error of a call whose outcome is unknown: the server's process ended
// before it answered, and another one has taken its place with the same store. The
// connection remains usable.
var ErrUnknown = wire.ErrUnknown

func checkNetwork(o Options, u Use) error {
	if o.Retry && u.CallsInFlight > service.MaxWindow {
		return fmt.Errorf("-retry: the workers that share a connection have %d calls in flight: want at most %d, and so more -connections",
			u.CallsInFlight, service.MaxWindow)
	}
	return o.Cached.Check(u.Longest)
}

func openNetwork(o Options, u Use) (Driver, error) {
	o.Features = o.features(u)
	return &network{options: o, use: u, client: rand.Text(), cache: o.Cached.Open(u.Records, u.Longest), instances: make([]string, len(o.Hosts))}, nil
}

// dial connects to a server, which must be the instance that the first Dial met.
func (n *network) dial(ctx context.Context, server, lane int) (*wire.Client, wire.Hello, error) {
	n.mu.Lock()
	o, instance := n.options, n.instances[server]
	n.mu.Unlock()
	w := o.Options
	w.Placement = service.Placement{Server: server, Servers: len(o.Hosts), Router: n.use.Router, Owners: n.use.Owners}
	w.Shared, w.KnownInstance, w.Kinds, w.Lane = n.use.Shared, instance, n.use.Kinds, lane
	if o.Retry {
		w.Retried, w.Replaced = n.retried, func() { n.replaced(server) }
		w.Session = service.Session{Client: n.client, Number: lane, Window: n.use.CallsInFlight, Keep: min(2*o.CallTimeout, service.MaxKeep)}
	}
	return wire.Dial(ctx, o.Hosts[server], w)
}

func (n *network) Dial(ctx context.Context, server, lane int) (Conn, Server, error) {
	client, hello, err := n.dial(ctx, server, lane)
	if err != nil {
		return nil, Server{}, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.instances[server] = hello.Instance
	if n.cache != nil {
		return n.cache.Over(client), Server{Name: hello.Node, NoStore: hello.Null}, nil
	}
	return client, Server{Name: hello.Node, NoStore: hello.Null}, nil
}

func (n *network) Info() Info {
	n.mu.Lock()
	defer n.mu.Unlock()
	info := Info{Capabilities: metrics.AllCapabilities, Retries: n.retries, FirstReplies: slices.Clone(n.replies)}
	if n.cache != nil {
		info.CacheBytes = n.cache.Bytes()
	}
	return info
}

// replaced keeps when the first reply came from a process that took a server's place.
func (n *network) replaced(server int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.replies == nil {
		n.replies = make([]time.Time, len(n.options.Hosts))
	}
	if n.replies[server].IsZero() {
		n.replies[server] = time.Now()
	}
}

// retried counts a reconnect, and the calls that it sends again.
func (n *network) retried(calls int, cause error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retries = n.retries.Add(&metrics.Retries{Connections: 1, Calls: uint64(calls), First: cause.Error()})
}

// Transactor returns the Transactor of a worker. With -retry a call that is sent again is
// executed once, as the session has its reply; so a connection that breaks between the votes
// and the decisions changes nothing but times.
func (n *network) Transactor(conns []Conn) (Transactor, error) { return newTransactor(conns), nil }

func (n *network) Close() error { return nil }

// Explain finds out whether the server was restarted, if the connection of the call
// broke. Only a new connection shows it.
func (n *network) Explain(ctx context.Context, server int, err error) error {
	var answered rpc.ServerError
	if n.options.Retry || errors.As(err, &answered) || errors.Is(err, wire.ErrUnsent) || errors.Is(err, kvs.ErrMalformed) || errors.Is(err, wire.ErrTimeout) {
		return nil
	}
	return Restarted(ctx, func(ctx context.Context) error {
		client, _, err := n.dial(ctx, server, 0)
		if err == nil {
			_ = client.Close() // it is not needed
		}
		return err
	})
}
