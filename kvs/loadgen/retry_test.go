package loadgen

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/kvs/cache"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// With -retry a run survives every fault of its connections: it ends without an error,
// no acknowledged write is lost, and the counts agree. Its summary counts the broken
// connections. KVLAB_LONG=1 makes 20 runs of each fault.
func TestRetryFaults(t *testing.T) {
	t.Parallel() // it mostly waits
	const ms = time.Millisecond
	kinds := []struct {
		fault  faultproxy.Fault
		breaks bool
	}{
		{faultproxy.Fault{Kind: faultproxy.Delay, Delay: ms, Jitter: ms}, false},
		{faultproxy.Fault{Kind: faultproxy.Throttle, Rate: 2_000_000}, false},
		{faultproxy.Fault{Kind: faultproxy.Cut}, true},
		{faultproxy.Fault{Kind: faultproxy.Truncate}, true},
		{faultproxy.Fault{Kind: faultproxy.Duplicate, Len: 77}, true},
		{faultproxy.Fault{Kind: faultproxy.Flip, Bit: 6}, true},
		{faultproxy.Fault{Kind: faultproxy.BlackHole}, true},
	}
	begun := uint64(time.Now().UnixNano())
	var runs, sentAgain atomic.Uint64
	t.Run("all", func(t *testing.T) {
		for _, kind := range kinds {
			for i := range 2 * uint64(seeds()) {
				fault, seed := kind.fault, begun+i
				fault.Way = faultproxy.Way(i % 2)
				t.Run(fmt.Sprint(fault.Kind, " ", fault.Way, " ", seed), func(t *testing.T) {
					t.Parallel()
					r := retryOnce(t, fault, seed)
					if broke := r != nil && r.Connections > 0; kind.breaks && !broke {
						t.Errorf("seed %d: no connection broke", seed)
					} else if broke {
						sentAgain.Add(r.Calls)
					}
					runs.Add(1)
				})
			}
		}
	})
	t.Logf("%d runs, %d calls sent again, no acknowledged write lost", runs.Load(), sentAgain.Load())
}

// retryOnce makes runs with ever longer windows until the fault has struck one: with a cache
// they send little.
func retryOnce(t *testing.T, fault faultproxy.Fault, seed uint64) *metrics.Retries {
	for window := 20 * time.Millisecond; ; window *= 4 {
		if retries, struck := retryWithin(t, fault, seed, window); struck {
			return retries
		} else if window > 10*time.Second {
			t.Errorf("seed %d: the fault did not strike", seed)
			return nil
		}
	}
}

// retryWithin makes one run through a proxy that strikes up to three connections, each at
// a random byte. After a connection that hangs the next one is good, because a call's
// timeout allows only one.
func retryWithin(t *testing.T, fault faultproxy.Fault, seed uint64, window time.Duration) (retries *metrics.Retries, struck bool) {
	rng := rand.New(rand.NewPCG(seed, uint64(fault.Kind)<<1|uint64(fault.Way)))
	last := rng.IntN(3)
	if fault.Kind == faultproxy.BlackHole {
		last = 0
	}
	var ats []int64
	for n := range last + 1 {
		at := rng.Int64N(40_000)
		if n == 0 {
			at += 2000 // behind the first handshake, which is not repeated
		}
		ats = append(ats, at)
	}
	s := newStore(t, "server0", "binary", engine.NewSyncMap())
	proxy := faultproxy.Start(t, s.addr, func(conn int) []faultproxy.Fault {
		if conn >= len(ats) {
			return nil
		}
		f := fault
		f.At = ats[conn]
		return []faultproxy.Fault{f}
	})
	c := brief()
	c.Cached = drawCache(t, rng)
	c.Verify, c.Linearizable, c.Window = 1, true, window
	c.Hosts, c.CRC, c.Retry, c.InFlight, c.CallTimeout = []string{proxy.Addr()}, true, true, 3, 6*time.Second
	g := connected(t, c)
	g.Secret = 7
	err := g.Load(context.Background())
	before := s.service.Sample()
	if err == nil {
		err = g.Measure(context.Background(), func(metrics.Phase) error { return nil })
	}
	var run metrics.Run
	if err == nil {
		run, err = recordOf(c, g, []*service.Service{s.service}, []*service.Sample{before}, []*service.Sample{s.service.Sample()}, nil)
	}
	g.Close()
	summary := g.Summary()
	found := noticed(t, s, c.Node, summary, err)
	if found == "" && summary.Check.Ops > 0 {
		found = summary.Check.Fault()
	}
	if found == "" {
		found = run.Audit.Fault()
	}
	if found != "" {
		t.Errorf("seed %d, cache %s: %s", seed, &c.Cached, found)
		return nil, true
	}
	return summary.Retries, len(proxy.Struck()) > 0
}

// Workers that share connections, over several servers, keep exact counts while
// connections are cut all the time, and their operations are linearizable, also with a cache
// for all or for some values.
func TestRetryKeepsCounts(t *testing.T) {
	for _, cached := range []cache.Size{0, cache.All, 16 << 10} {
		t.Run("cache "+cached.String(), func(t *testing.T) { retryKeepsCounts(t, cached) })
	}
}

func retryKeepsCounts(t *testing.T, cached cache.Size) {
	const seed = 20261121
	t.Logf("seed %d", seed)
	stores, _ := newStoresOf(t, 2, "binary", "slab")
	c := brief()
	c.Cached, c.Hosts = cached, nil
	var proxies []*faultproxy.Proxy
	for i, s := range stores {
		proxy := cutting(t, s.addr, seed+uint64(i))
		proxies, c.Hosts = append(proxies, proxy), append(c.Hosts, proxy.Addr())
	}
	c.Retry, c.Workers, c.Connections, c.InFlight, c.Linearizable = true, 8, 3, 2, true
	c.CallTimeout = time.Minute
	g := connected(t, c)
	if err := errors.Join(g.Load(context.Background()), g.measureOps(20_000), g.Close()); err != nil {
		t.Fatal(err)
	}
	summary := g.Summary()
	remembered := uint64(0)
	for i, s := range stores {
		if found := noticed(t, s, c.Node, metrics.Summary{Total: summary.Peers[i].Counts, Verification: summary.Verification}, nil); found != "" {
			t.Errorf("%s: %s", s.name, found)
		}
		_, calls := s.service.Retries()
		remembered += calls
	}
	if r := summary.Retries; r == nil || r.Calls <= remembered || remembered == 0 || r.First == "" || len(proxies[0].Struck()) == 0 {
		t.Errorf("retries %+v, %d answered from memory; want some of both kinds, and the first reason", r, remembered)
	}
	if fault := summary.Check.Fault(); fault != "" {
		t.Error(fault)
	}
}

// A server that restarts with an empty store ends a run, with and without -retry, and
// the error names it. If the server is gone, the error of the call stays.
func TestServerRestarted(t *testing.T) {
	for _, test := range []struct {
		codec       string
		retry, gone bool
	}{{"binary", false, false}, {"gob", false, false}, {"binary", true, false}, {"binary", false, true}} {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			s := newStore(t, "server0", test.codec, engine.NewMutex())
			c := brief()
			c.Hosts, c.Codec, c.Retry, c.Workers, c.Window = []string{s.addr}, test.codec, test.retry, 4, time.Hour
			g := connected(t, c)
			if err := g.Load(context.Background()); err != nil {
				t.Fatal(err)
			}
			var next *store
			err := within(t, "the run", func() error {
				return g.Measure(context.Background(), func(p metrics.Phase) error {
					switch {
					case p != metrics.Window:
					case test.gone:
						s.Close()
						s.Cut()
					default:
						next = s.restart(t, test.codec)
					}
					return nil
				})
			})
			var call *CallError
			var restarted *wire.RestartedError
			if !errors.As(err, &call) && test.gone || errors.As(err, &restarted) == test.gone || !strings.Contains(err.Error(), "server0") {
				t.Errorf("error %v, want one that says that server0 was restarted, or that of the call", err)
			}
			if next != nil && next.service.Records() != 0 {
				t.Errorf("%d records were stored on the empty server", next.service.Records())
			}
		})
	}
}

// cutting returns a proxy that cuts each connection at a random byte.
func cutting(t *testing.T, addr string, seed uint64) *faultproxy.Proxy {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return faultproxy.Start(t, addr, func(int) []faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		return []faultproxy.Fault{{Kind: faultproxy.Cut, Way: faultproxy.Way(rng.IntN(2)), At: 2000 + rng.Int64N(60_000)}}
	})
}
