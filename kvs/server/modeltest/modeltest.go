// Package modeltest is the suite that every execution model passes.
package modeltest

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/certs"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// Server serves an engine by a model.
type Server struct {
	*wiretest.Server
	Model   server.Model
	Service *service.Service

	mu     sync.Mutex
	errors []string // of connections that ended badly; guarded by mu
}

// Options returns a server's in these tests.
func Options() wire.Options {
	return wire.Options{Hello: wire.Hello{Node: "node0", Codec: "binary"}}
}

// Start starts a server of the model of a value of -model. It runs until the test ends.
func Start(t testing.TB, model string, e kvs.Engine, o wire.Options) *Server {
	t.Helper()
	m, err := server.OpenModel(model)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Model: m, Service: service.New(e)}
	t.Cleanup(func() {
		if n := s.Service.Conns(); n != 0 {
			t.Errorf("%d sessions at the end", n)
		}
		m.Stop()
	})
	s.Server = wiretest.StartOn(t, m.Listener(socket), func(conn net.Conn) {
		if err := server.Serve(conn, o, s.Service, m); err != nil {
			s.mu.Lock()
			s.errors = append(s.errors, err.Error())
			s.mu.Unlock()
		}
	})
	return s
}

// ended returns the errors of the connections that have ended.
func (s *Server) ended() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.errors, "\n")
}

// Eventually waits until ok.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 2 min", what)
		}
	}
}

// Dial connects as a client with the server's codec, CRC and TLS.
func Dial(t testing.TB, addr string, o wire.Options) *wire.Client {
	t.Helper()
	o.Node, o.Limits = "node1", wire.Limits{}
	c, _, err := wire.Dial(context.Background(), addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// swap is a call that puts a version under a key, and returns the one before.
type swap struct {
	kvs.Call
	version int
}

func newSwap(key string, version int) *swap {
	s := &swap{kvs.Call{Batch: new(kvs.Batch), Reply: new(kvs.Reply)}, version}
	value := make([]byte, 10+version*37%5000)
	binary.LittleEndian.PutUint64(value, uint64(version))
	s.Batch.Append(kvs.ReadModifyWrite, []byte(key), value)
	for range version % 3 {
		s.Batch.Get([]byte(key))
	}
	return s
}

// wait checks the reply: the version before, and then this one.
func (s *swap) wait(c *wire.Client) error {
	if err := c.Wait(&s.Call); err != nil {
		return err
	}
	defer s.Reply.Free()
	results := s.Reply.Results()
	for i := range s.Batch.Len() {
		r, err := results.Next()
		want := s.version - 1 + min(i, 1)
		if err != nil || r.Found != (want > 0) || r.Found && int(binary.LittleEndian.Uint64(r.Value)) != want {
			return fmt.Errorf("swap %d, result %d: %t, %.8q, %v; want version %d", s.version, i, r.Found, r.Value, err, want)
		}
	}
	return nil
}

// Swaps makes n swaps of its own key on a client, window of them in flight at a time.
func Swaps(c *wire.Client, key string, n, window int) error {
	var pending []*swap
	for version := 1; version <= n || len(pending) > 0; {
		if version <= n && len(pending) < window {
			s := newSwap(key, version)
			c.Send(&s.Call)
			pending = append(pending, s)
			version++
			continue
		}
		if err := pending[0].wait(c); err != nil {
			return err
		}
		pending = pending[1:]
	}
	return nil
}

// Encrypted returns the TLS of both sides.
func Encrypted(t *testing.T) *tls.Config {
	t.Helper()
	authority, err := certs.NewAuthority(time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := authority.Issue("node0", netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := issued.Config()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Run tests the model of a value of -model. It executes at most atOnce calls at once; 0 is as
// many as there are connections.
func Run(t *testing.T, model string, atOnce int64) {
	t.Run(model, func(t *testing.T) {
		t.Run("order", func(t *testing.T) { order(t, model) })
		t.Run("back pressure", func(t *testing.T) { backPressure(t, model, atOnce) })
		t.Run("drain", func(t *testing.T) { drain(t, model) })
		t.Run("limits", func(t *testing.T) { limits(t, model) })
		t.Run("sessions", func(t *testing.T) { sessions(t, model) })
	})
}

// order checks that a connection's calls are executed in their order, in every codec, with
// checksums and under TLS, one at a time and many.
func order(t *testing.T, model string) {
	secure := Encrypted(t)
	for _, name := range append(slices.Clone(wire.Codecs), "CRC", "TLS", "CRC, TLS") {
		t.Run(name, func(t *testing.T) {
			o := Options()
			if slices.Contains(wire.Codecs, name) {
				o.Codec = name
			}
			if o.CRC = strings.Contains(name, "CRC"); strings.Contains(name, "TLS") {
				o.TLS = secure
			}
			s := Start(t, model, engine.NewMutex(), o)
			var callers sync.WaitGroup
			for i := range 8 {
				conn := Dial(t, s.Addr().String(), o)
				callers.Go(func() {
					if err := Swaps(conn, fmt.Sprint(i), 60, 1+i%4*i); err != nil {
						t.Error(err)
					}
				})
			}
			callers.Wait()
			if counts := s.Service.Counts()["node1"]; counts.ReadModifyWrites != 8*60 {
				t.Errorf("%d swaps were counted", counts.ReadModifyWrites)
			}
		})
	}
}

// Gate is an engine whose calls wait until it is opened.
type Gate struct {
	kvs.Engine
	Inside, Applied atomic.Int64 // calls that wait or are being applied; operations that were applied
	most            atomic.Int64
	open            chan struct{}
}

// NewGate returns an empty engine.
func NewGate() *Gate { return &Gate{Engine: engine.NewMutex(), open: make(chan struct{})} }

// Open lets all calls through.
func (g *Gate) Open() { close(g.open) }

// Apply executes ops after Open; see kvs.Engine.
func (g *Gate) Apply(ops []kvs.Op, reply *kvs.Reply) {
	now := g.Inside.Add(1)
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
	<-g.open
	g.Engine.Apply(ops, reply)
	g.Applied.Add(int64(len(ops)))
	g.Inside.Add(-1)
}

// backPressure checks that as many calls are executed at once as the model says, that the
// others wait, and that all are answered.
func backPressure(t *testing.T, model string, atOnce int64) {
	const conns = 20
	g := NewGate()
	s := Start(t, model, g, Options())
	var callers sync.WaitGroup
	for i := range conns {
		c := Dial(t, s.Addr().String(), Options())
		callers.Go(func() {
			if err := Swaps(c, fmt.Sprint(i), 3, 3); err != nil {
				t.Error(err)
			}
		})
	}
	if atOnce == 0 {
		atOnce = conns
	}
	Eventually(t, "the calls", func() bool { return g.Inside.Load() == atOnce })
	g.Open()
	callers.Wait()
	if most := g.most.Load(); most != atOnce {
		t.Errorf("%d calls were executed at once, want %d", most, atOnce)
	}
}

// drain checks that a connection which is closed ends after its call, and the counts are then
// those of the engine.
func drain(t *testing.T, model string) {
	g := NewGate()
	s := Start(t, model, g, Options())
	for i := range 8 {
		one, c := newSwap(fmt.Sprint(i), 1), Dial(t, s.Addr().String(), Options())
		c.Send(&one.Call)
	}
	idle := Dial(t, s.Addr().String(), Options())
	Eventually(t, "calls in flight", func() bool { return g.Inside.Load() >= 2 })
	inside := g.Inside.Load()
	s.Close()
	s.Cut()
	Eventually(t, "the end of the connection without a call", func() bool { return s.Service.Conns() <= 8 })
	if n := s.Service.Conns(); int64(n) < inside {
		t.Errorf("%d connections with %d calls in flight", n, inside)
	}
	g.Open()
	Eventually(t, "the end of all connections", func() bool { return s.Service.Conns() == 0 })
	if counts := s.Service.Counts()["node1"]; int64(counts.Ops()) != g.Applied.Load() {
		t.Errorf("%d operations are counted and %d applied", counts.Ops(), g.Applied.Load())
	}
	if err := Swaps(idle, "key", 1, 1); err == nil {
		t.Error("a call after the end")
	}
}

// limits checks that a connection without a request, and one whose request is late, are
// closed with the reason, and that a request over a limit is refused.
func limits(t *testing.T, model string) {
	var over, long kvs.Batch
	for range 6 {
		over.Get([]byte("key"))
	}
	for range 4 {
		long.Append(kvs.Put, []byte("key"), make([]byte, 10_000))
	}
	for _, test := range []struct {
		limits wire.Limits
		batch  *kvs.Batch // nil for none
		behind []faultproxy.Fault
		reason string
	}{
		{wire.Limits{Batch: 5}, &over, nil, "-max-batch"},
		{wire.Limits{Request: 20 * time.Millisecond}, &long, []faultproxy.Fault{{Kind: faultproxy.BlackHole, Way: faultproxy.ToServer, At: 20_000}}, "-request-timeout"},
		{wire.Limits{Idle: 20 * time.Millisecond}, nil, nil, "-idle-timeout"},
	} {
		o := Options()
		o.Limits = test.limits
		s := Start(t, model, engine.NewMutex(), o)
		proxy := faultproxy.Start(t, s.Addr().String(), func(int) []faultproxy.Fault { return test.behind })
		conn := Dial(t, proxy.Addr(), o)
		if test.batch != nil {
			call := kvs.Call{Batch: test.batch, Reply: new(kvs.Reply)}
			conn.Send(&call)
			if err := conn.Wait(&call); err == nil {
				t.Errorf("a request over %s was answered", test.reason)
			}
		}
		Eventually(t, "the connection's end for "+test.reason, func() bool {
			return s.Service.Conns() == 0 && strings.Contains(s.ended(), test.reason)
		})
	}
}

// sessions checks that sessions whose connections are cut at random bytes apply each call
// once.
func sessions(t *testing.T, model string) {
	s := Start(t, model, engine.NewMutex(), Options())
	var reconnects atomic.Uint64
	var callers sync.WaitGroup
	for i := range 4 {
		proxy := faultproxy.Start(t, s.Addr().String(), func(conn int) []faultproxy.Fault {
			if conn > 8 {
				return nil
			}
			kind := []faultproxy.Kind{faultproxy.Cut, faultproxy.Truncate}[conn%2]
			return []faultproxy.Fault{{Kind: kind, Way: faultproxy.Way(conn / 2 % 2), At: int64(3000 + 4517*i + 1319*conn)}}
		})
		o := Options()
		o.Retry, o.CallTimeout = true, time.Minute
		o.Retried = func(int, error) { reconnects.Add(1) }
		o.Session = service.Session{Client: "0123456789abcdef", Number: i, Window: 4, Keep: time.Minute}
		c := Dial(t, proxy.Addr(), o)
		callers.Go(func() {
			if err := Swaps(c, fmt.Sprint(i), 300, 4); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	if counts := s.Service.Counts()["node1"]; counts.ReadModifyWrites != 4*300 || reconnects.Load() == 0 {
		t.Errorf("%d swaps were applied, want 1200; %d reconnects", counts.ReadModifyWrites, reconnects.Load())
	}
}
