package loadgen

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/kvs/engine"
	"kvlab/kvs/wire/faultproxy"
	"kvlab/metrics"
)

// TestFaultSeeds is the fault matrix at random moments: every kind of fault, both
// ways, struck at a byte anywhere from the handshake to the window. What only
// takes time leaves a good run, all else is noticed, and an end of the connection
// is an error that names the server. KVLAB_LONG=1 takes 20 moments of each
// instead of 1 and logs how soon the runs ended.
func TestFaultSeeds(t *testing.T) {
	t.Parallel() // it mostly waits
	moments, seed := 1, uint64(20261122)
	if os.Getenv("KVLAB_LONG") == "1" {
		moments, seed = 20, uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, kind := range []faultproxy.Kind{
		faultproxy.Delay, faultproxy.Throttle, faultproxy.Cut, faultproxy.Truncate, faultproxy.Duplicate, faultproxy.Flip, faultproxy.BlackHole,
	} {
		for _, way := range []faultproxy.Way{faultproxy.ToServer, faultproxy.ToClient} {
			right, slowest := 0, time.Duration(0)
			for range moments {
				f := randomFault(kind, way, rng)
				found, took := runBehind(t, f)
				if wrong := misjudged(f, found); wrong != "" {
					t.Errorf("%v: %q, want %s", f, found, wrong)
					continue
				}
				right++
				slowest = max(slowest, took)
			}
			t.Logf("%v %v: %d of %d right; the slowest run ended %v after the fault", kind, way, right, moments, slowest.Round(time.Millisecond))
		}
	}
}

// randomFault strikes at any magnitude of bytes alike: the handshake is some
// hundred, the load of brief some ten thousand.
func randomFault(kind faultproxy.Kind, way faultproxy.Way, rng *rand.Rand) faultproxy.Fault {
	return faultproxy.Fault{
		Kind: kind, Way: way, At: int64(math.Exp(rng.Float64() * math.Log(200_000))),
		Delay: time.Duration(rng.Int64N(int64(5 * time.Millisecond))), Jitter: time.Millisecond,
		Rate: 1_000_000, Len: 1 + rng.IntN(1000), Bit: uint8(rng.IntN(8)),
	}
}

// misjudged says what a run with a fault should have come to, "" if it has.
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

// runBehind is a run with a fault: how that shows, and how long after it the run
// ended.
func runBehind(t *testing.T, f faultproxy.Fault) (found string, took time.Duration) {
	t.Helper()
	s := newStore(t, "server0", "binary", engine.NewMutex())
	for window := 100 * time.Millisecond; ; window *= 4 {
		proxy := faultproxy.Start(t, s.addr, 1, func(int) []faultproxy.Fault { return []faultproxy.Fault{f} })
		c := brief()
		c.Hosts, c.CRC, c.Window = []string{proxy.Addr()}, true, window
		if f.Kind == faultproxy.BlackHole {
			c.CallTimeout = 300 * time.Millisecond
		}
		struck, done := make(chan time.Time, 1), make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { watchFor(proxy, struck, done) })
		before := s.service.Counts()[c.Node]
		summary, err := complete(context.Background(), c)
		ended := time.Now()
		close(done)
		watch.Wait()
		summary.Total = summary.Total.Add(metrics.CountsOf(before.Fields())) // of runs that were over before the fault
		found = noticed(t, s, c.Node, summary, err)
		select {
		case at := <-struck:
			return found, ended.Sub(at)
		default:
			if found != "" || window > 30*time.Second {
				t.Fatalf("%v did not strike: %s", f, found)
			}
		}
	}
}

// watchFor says when a fault has struck, to a millisecond.
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
