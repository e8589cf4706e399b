package server

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/kvs"
	"kvlab/kvs/certs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// every are the models that the suite runs over, with few workers and short queues.
var every = []string{"conn", "bounded:2", "pool:2", "pool:2,1", "pool:auto", "hybrid", "hybrid:2,1", "parked"}

// forEvery runs a test for every model.
func forEvery(t *testing.T, test func(t *testing.T, model string)) {
	for _, model := range every {
		t.Run(model, func(t *testing.T) { test(t, model) })
	}
}

// serving is a server's configuration in these tests.
func serving() config {
	return config{Options: wire.Options{Hello: wire.Hello{Node: "node0", Codec: "binary"}}, MaxConnections: 1000}
}

// client connects as a client with the server's codec, CRC and TLS.
func client(t *testing.T, addr string, o wire.Options) *wire.Client {
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

// swaps makes swaps of its own key on a client, some of them under way at a time.
func swaps(c *wire.Client, key string, n, window int) error {
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

// encrypted is the TLS of both sides.
func encrypted(t *testing.T) *tls.Config {
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

// A connection's calls are executed in their order, in every codec, with checksums and
// under TLS, one at a time and many.
func TestModelOrder(t *testing.T) {
	secure := encrypted(t)
	forEvery(t, func(t *testing.T, model string) {
		for _, name := range append(wire.Codecs[:len(wire.Codecs):len(wire.Codecs)], "CRC", "TLS", "CRC, TLS") {
			t.Run(name, func(t *testing.T) {
				c := serving()
				if slices.Contains(wire.Codecs, name) {
					c.Codec = name
				}
				if c.CRC = strings.Contains(name, "CRC"); strings.Contains(name, "TLS") {
					c.TLS = secure
				}
				l, _ := startModel(t, model, plain, engine.NewMutex(), c)
				var callers sync.WaitGroup
				for i := range 8 {
					conn := client(t, l.Addr().String(), c.Options)
					callers.Go(func() {
						if err := swaps(conn, fmt.Sprint(i), 60, 1+i%4*i); err != nil {
							t.Error(err)
						}
					})
				}
				callers.Wait()
				if counts := l.service.Counts()["node1"]; counts.ReadModifyWrites != 8*60 {
					t.Errorf("%d swaps were counted", counts.ReadModifyWrites)
				}
			})
		}
	})
}

// gate is an engine whose calls wait.
type gate struct {
	kvs.Engine
	inside, most, applied atomic.Int64
	open                  chan struct{}
}

func newGate() *gate { return &gate{Engine: engine.NewMutex(), open: make(chan struct{})} }

func (g *gate) Apply(ops []kvs.Op, reply *kvs.Reply) {
	now := g.inside.Add(1)
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
	<-g.open
	g.Engine.Apply(ops, reply)
	g.applied.Add(int64(len(ops)))
	g.inside.Add(-1)
}

// As many calls are executed at once as the model says, the others wait, and all are
// answered.
func TestModelBackPressure(t *testing.T) {
	t.Parallel()
	const conns = 20
	atOnce := map[string]int64{"bounded:2": 2, "pool:2": 2, "pool:2,1": 2, "hybrid:2,1": 2}
	forEvery(t, func(t *testing.T, model string) {
		g := newGate()
		l, _ := startModel(t, model, plain, g, serving())
		var callers sync.WaitGroup
		for i := range conns {
			c := client(t, l.Addr().String(), serving().Options)
			callers.Go(func() {
				if err := swaps(c, fmt.Sprint(i), 3, 3); err != nil {
					t.Error(err)
				}
			})
		}
		want, ok := atOnce[model]
		if !ok {
			want = conns
		}
		eventually(t, "the calls", func() bool { return g.inside.Load() == want })
		close(g.open)
		callers.Wait()
		if most := g.most.Load(); most != want {
			t.Errorf("%d calls were executed at once, want %d", most, want)
		}
	})
}

// Batches that only read do not wait for those that write.
func TestHybridReadsInline(t *testing.T) {
	g := newGate()
	l, _ := startModel(t, "hybrid:1,1", plain, g, serving())
	var callers sync.WaitGroup
	for i := range 10 {
		c := client(t, l.Addr().String(), serving().Options)
		callers.Go(func() {
			var batch kvs.Batch
			for range 100 {
				batch.Get([]byte("key"))
			}
			if i%2 == 0 {
				batch.Delete([]byte("key"))
			}
			call := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
			c.Send(&call)
			if err := c.Wait(&call); err != nil {
				t.Error(err)
			}
		})
	}
	eventually(t, "five batches of reads and one that writes", func() bool { return g.inside.Load() == 6 })
	close(g.open)
	callers.Wait()
	if g.applied.Load() != 1005 {
		t.Errorf("%d operations were applied, want 1005", g.applied.Load())
	}
}

// stop waits for the calls under way, and the counts are then those of the engine.
func TestModelDrain(t *testing.T) {
	forEvery(t, func(t *testing.T, model string) {
		g := newGate()
		l, _ := startModel(t, model, plain, g, serving())
		for i := range 8 {
			s, c := newSwap(fmt.Sprint(i), 1), client(t, l.Addr().String(), serving().Options)
			c.Send(&s.Call)
		}
		idle := client(t, l.Addr().String(), serving().Options)
		eventually(t, "calls under way", func() bool { return g.inside.Load() >= 2 })
		stopped := make(chan error, 1)
		go func() { stopped <- l.stop() }()
		eventually(t, "the end of the connection without a call", func() bool { return l.service.Conns() <= 8 })
		select {
		case err := <-stopped:
			t.Errorf("stop returned with calls under way, error %v", err)
		default:
		}
		close(g.open)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if counts := l.service.Counts()["node1"]; int64(counts.Ops()) != g.applied.Load() || l.service.Conns() != 0 {
			t.Errorf("%d operations are counted and %d applied, %d connections", counts.Ops(), g.applied.Load(), l.service.Conns())
		}
		if err := swaps(idle, "key", 1, 1); err == nil {
			t.Error("a call after stop")
		}
	})
}

// A connection without a request, and one whose request is late, are closed with the
// reason; a request over a limit is refused.
func TestModelLimits(t *testing.T) {
	t.Parallel()
	forEvery(t, func(t *testing.T, model string) {
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
			c := serving()
			c.Limits = test.limits
			l, lines := startModel(t, model, plain, engine.NewMutex(), c)
			proxy := faultproxy.Start(t, l.Addr().String(), func(int) []faultproxy.Fault { return test.behind })
			conn := client(t, proxy.Addr(), c.Options)
			if test.batch != nil {
				call := kvs.Call{Batch: test.batch, Reply: new(kvs.Reply)}
				conn.Send(&call)
				if err := conn.Wait(&call); err == nil {
					t.Errorf("a request over %s was answered", test.reason)
				}
			}
			eventually(t, "the connection's end for "+test.reason, func() bool {
				return l.service.Conns() == 0 && strings.Contains(lines.String(), test.reason)
			})
		}
	})
}

// Sessions whose connections are cut at random bytes apply each call once.
func TestModelSessions(t *testing.T) {
	forEvery(t, func(t *testing.T, model string) {
		l, _ := startModel(t, model, plain, engine.NewMutex(), serving())
		var reconnects atomic.Uint64
		var callers sync.WaitGroup
		for i := range 4 {
			proxy := faultproxy.Start(t, l.Addr().String(), func(conn int) []faultproxy.Fault {
				if conn > 8 {
					return nil
				}
				kind := []faultproxy.Kind{faultproxy.Cut, faultproxy.Truncate}[conn%2]
				return []faultproxy.Fault{{Kind: kind, Way: faultproxy.Way(conn / 2 % 2), At: int64(3000 + 4517*i + 1319*conn)}}
			})
			o := serving().Options
			o.Retry, o.CallTimeout = true, time.Minute
			o.Retried = func(int, error) { reconnects.Add(1) }
			o.Session = service.Session{Client: "0123456789abcdef", Number: i, Window: 4, Keep: time.Minute}
			c := client(t, proxy.Addr(), o)
			callers.Go(func() {
				if err := swaps(c, fmt.Sprint(i), 300, 4); err != nil {
					t.Error(err)
				}
			})
		}
		callers.Wait()
		if counts := l.service.Counts()["node1"]; counts.ReadModifyWrites != 4*300 || reconnects.Load() == 0 {
			t.Errorf("%d swaps were applied, want 1200; %d reconnects", counts.ReadModifyWrites, reconnects.Load())
		}
	})
}
