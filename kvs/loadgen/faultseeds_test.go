package loadgen

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/kvs/engine"
	"kvlab/kvs/wire"
)

// TestFaultSeeds strikes each kind of fault, in both directions, at a random byte from
// the handshake to the window. A run with a delay is valid, every other fault is
// noticed, and a broken connection is an error that names the server. KVLAB_LONG=1
// strikes each 20 times with each of the servers' execution models, instead of once with
// one of them, and logs how soon the runs ended.
func TestFaultSeeds(t *testing.T) {
	t.Parallel() // it mostly waits
	moments, seed := 1, uint64(20261122)
	if long() {
		moments, seed = 20, uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	chosen := models
	if moments == 1 {
		chosen = []string{""} // one is drawn
	}
	for _, kind := range []faultproxy.Kind{
		faultproxy.Delay, faultproxy.Throttle, faultproxy.Cut, faultproxy.Truncate, faultproxy.Duplicate, faultproxy.Flip, faultproxy.BlackHole,
	} {
		for _, way := range []faultproxy.Way{faultproxy.ToServer, faultproxy.ToClient} {
			for _, model := range chosen {
				if model == "" {
					model = models[random.IntN(len(models))]
				}
				rng := rand.New(rand.NewPCG(random.Uint64(), 0))
				t.Run(fmt.Sprintf("%v %v, model %s", kind, way, model), func(t *testing.T) {
					t.Parallel()
					slowest := time.Duration(0)
					for range moments {
						f := randomFault(kind, way, rng)
						found, took := runBehind(t, f, model, rng)
						if wrong := misjudged(f, found); wrong != "" {
							t.Errorf("%v: %q, want %s", f, found, wrong)
						}
						slowest = max(slowest, took)
					}
					t.Logf("the slowest of %d runs ended %v after the fault", moments, slowest.Round(time.Millisecond))
				})
			}
		}
	}
}

// randomFault strikes at a byte whose magnitude is uniform: the handshake takes some
// hundred bytes, the load of brief some ten thousand.
func randomFault(kind faultproxy.Kind, way faultproxy.Way, rng *rand.Rand) faultproxy.Fault {
	return faultproxy.Fault{
		Kind: kind, Way: way, At: int64(math.Exp(rng.Float64() * math.Log(200_000))),
		Delay: time.Duration(rng.Int64N(int64(5 * time.Millisecond))), Jitter: time.Millisecond,
		Rate: 1_000_000, Len: 1 + rng.IntN(1000), Bit: uint8(rng.IntN(8)),
	}
}

// misjudged says how a run with a fault should have ended; "" if it did.
func misjudged(f faultproxy.Fault, found string) string {
	harmless, ends := f.Kind <= faultproxy.Throttle, f.Kind == faultproxy.Cut || f.Kind == faultproxy.Truncate || f.Kind == faultproxy.BlackHole
	switch {
	case harmless && found != "":
		return "a run that is fine"
	case !harmless && found == "":
		return "a run that fails"
	case ends && (!strings.HasPrefix(found, "error: ") || !strings.Contains(found, "server0") && !strings.Contains(found, "127.0.0.1:")):
		return "an error with the server's name"
	}
	return ""
}

// runBehind makes a run with a fault. It returns how the fault shows, and the time from
// the fault to the run's end.
func runBehind(t *testing.T, f faultproxy.Fault, model string, rng *rand.Rand) (found string, took time.Duration) {
	t.Helper()
	s := newStoreWith(t, "127.0.0.1:0", "server0", "binary", engine.NewSyncMap(), model)
	c := brief()
	c.Cached = drawCache(t, rng)
	for window := 100 * time.Millisecond; ; window *= 4 {
		proxy := faultproxy.Start(t, s.addr, func(int) []faultproxy.Fault { return []faultproxy.Fault{f} })
		c.Hosts, c.CRC, c.Window = []string{proxy.Addr()}, true, window
		if f.Kind == faultproxy.BlackHole {
			c.CallTimeout = 3 * window
		}
		struck, done := make(chan time.Time, 1), make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { watchFor(proxy, struck, done) })
		before := s.service.Counts()[c.Node]
		summary, err := complete(context.Background(), c)
		ended := time.Now()
		close(done)
		watch.Wait()
		summary.Total = summary.Total.Add(before) // of runs that were over before the fault
		if f.Kind == faultproxy.BlackHole {
			s.Cut() // the client's end does not arrive either
		}
		found = noticed(t, s, c.Node, summary, err)
		select {
		case at := <-struck:
			return found, ended.Sub(at)
		default:
			late := f.Kind == faultproxy.BlackHole && strings.Contains(found, wire.ErrTimeout.Error()) // on a busy machine, without the fault
			if found != "" && !late || window > 30*time.Second {
				t.Fatalf("%v did not strike: %s", f, found)
			}
		}
	}
}

// watchFor returns when a fault struck, to a millisecond.
func watchFor(proxy *faultproxy.Proxy, struck chan<- time.Time, done <-chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		over := false
		select {
		case <-done:
			over = true
		case <-tick.C:
		}
		if len(proxy.Struck()) > 0 {
			struck <- time.Now()
			return
		}
		if over {
			return
		}
	}
}
