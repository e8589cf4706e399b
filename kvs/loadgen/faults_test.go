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
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// brief returns a run of some ten milliseconds with one connection.
func brief() Config {
	c := DefaultConfig()
	c.Workload.Workload = workload.YCSBA
	c.Workload.Records, c.Workers, c.Batch, c.ValueSize = 500, 1, 50, size.Constant(100)
	c.WarmUp, c.Window, c.CallTimeout = 0, 20*time.Millisecond, time.Minute // a busy machine may take long for a call
	return c
}

// complete makes a whole run and returns its summary.
func complete(ctx context.Context, c Config) (metrics.Summary, error) {
	g, err := New(c)
	if err != nil {
		return metrics.Summary{}, err
	}
	defer g.Close()
	if err := g.Connect(ctx); err != nil {
		return metrics.Summary{}, err
	}
	if err := g.Load(ctx); err != nil {
		return g.Summary(), err
	}
	err = g.Measure(ctx, func(metrics.Phase) error { return nil })
	return g.Summary(), err
}

// noticed says how a run shows its fault; "" if it does not.
func noticed(t *testing.T, s *store, client string, summary metrics.Summary, err error) string {
	t.Helper()
	s.sessionsEnd(t)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case summary.Verification.Failures > 0:
		return "verification: " + summary.Verification.First
	case summary.Total.Misses > 0:
		return fmt.Sprintf("%d misses", summary.Total.Misses)
	case summary.Total != s.service.Counts()[client]:
		return fmt.Sprintf("counts: verified %+v, applied %+v", summary.Total, s.service.Counts()[client])
	}
	return ""
}

// regions are the bytes between which a fault strikes: in the handshake, in the load of
// brief, and later. A fault strikes at a byte whose magnitude is uniform.
var regions = []float64{1, 200, 20_000, 200_000}

// TestFaults strikes each kind of fault, in both directions, in each region. A run with a
// delay is valid, every other fault is noticed, and a broken connection is an error that names
// the server. A flipped bit is noticed with -crc and, in a reply, also with -verify full alone.
// KVLAB_LONG=1 strikes each 20 times with each of the servers' execution models, instead of
// once with one of them, and logs how soon the runs ended.
func TestFaults(t *testing.T) {
	t.Parallel() // it mostly waits
	times, seed := 1, uint64(20261122)
	if long() {
		times, seed = 20*len(models), uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	strike := func(kind faultproxy.Kind, way faultproxy.Way, crc bool) {
		first, rng := random.IntN(len(models)), rand.New(rand.NewPCG(random.Uint64(), 0))
		t.Run(fmt.Sprintf("%v %v, -crc=%t", kind, way, crc), func(t *testing.T) {
			t.Parallel()
			slowest := time.Duration(0)
			for i := range times * (len(regions) - 1) {
				from, to := math.Log(regions[i%3]), math.Log(regions[i%3+1])
				f := faultproxy.Fault{
					Kind: kind, Way: way, At: int64(math.Exp(from + rng.Float64()*(to-from))),
					Delay: time.Duration(rng.Int64N(int64(5 * time.Millisecond))), Jitter: time.Millisecond,
					Rate: 1_000_000, Len: 1 + rng.IntN(1000), Bit: uint8(rng.IntN(8)),
				}
				found, took := runBehind(t, f, crc, models[(first+i)%len(models)], rng)
				if wrong := misjudged(f, found); wrong != "" {
					t.Errorf("%v: %q, want %s", f, found, wrong)
				}
				slowest = max(slowest, took)
			}
			t.Logf("the slowest run ended %v after the fault", slowest.Round(time.Millisecond))
		})
	}
	for _, kind := range []faultproxy.Kind{
		faultproxy.Delay, faultproxy.Throttle, faultproxy.Cut, faultproxy.Truncate, faultproxy.Duplicate, faultproxy.Flip, faultproxy.BlackHole,
	} {
		strike(kind, faultproxy.ToServer, true)
		strike(kind, faultproxy.ToClient, true)
	}
	strike(faultproxy.Flip, faultproxy.ToClient, false)
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
func runBehind(t *testing.T, f faultproxy.Fault, crc bool, model string, rng *rand.Rand) (found string, took time.Duration) {
	t.Helper()
	s := newStoreWith(t, "127.0.0.1:0", "server0", "binary", engine.NewSyncMap(), model)
	c := brief()
	if c.CRC = crc; crc {
		c.Cached = drawCache(t, rng)
	} else {
		c.Verify, c.CallTimeout = 1, 10*time.Second // a length may be wrong
	}
	for window := 100 * time.Millisecond; ; window *= 4 {
		proxy := faultproxy.Start(t, s.addr, func(int) []faultproxy.Fault { return []faultproxy.Fault{f} })
		c.Hosts, c.Window = []string{proxy.Addr()}, window
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

func containsOne(text, alternatives string) bool {
	for _, a := range strings.Split(alternatives, "|") {
		if strings.Contains(text, a) {
			return true
		}
	}
	return false
}
