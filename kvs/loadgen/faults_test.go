package loadgen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/kvs/engine"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// behindProxy is a server that clients reach through a proxy with faults.
type behindProxy struct {
	*store
	proxy *faultproxy.Proxy
}

func newBehindProxy(t *testing.T, name, codec string, faults ...faultproxy.Fault) behindProxy {
	t.Helper()
	s := newStore(t, name, codec, engine.NewMutex())
	return behindProxy{s, faultproxy.Start(t, s.addr, func(int) []faultproxy.Fault { return faults })}
}

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

// Each kind of fault, in the handshake, in the load and after it, ends the run with an
// error that names the server, unless the fault is only a delay.
func TestFaultMatrix(t *testing.T) {
	const inHandshake, inLoad, later = 40, 20_000, 150_000
	const ms = time.Millisecond
	type fault = faultproxy.Fault
	tests := []struct {
		fault fault
		want  string // what the error has, one of; "" for a run that is fine
	}{
		{fault{Kind: faultproxy.Delay, Delay: ms, Jitter: ms}, ""},
		{fault{Kind: faultproxy.Throttle, Rate: 2_000_000}, ""},
		{fault{Kind: faultproxy.Cut}, "connection reset|closed|EOF|broken pipe"},
		{fault{Kind: faultproxy.Truncate}, "EOF|closed|shut down|broken pipe"},
		{fault{Kind: faultproxy.Duplicate, Len: 77}, "frame|EOF|closed|shut down|reset|handshake|broken pipe|invalid character|unknown protocol"},
		{fault{Kind: faultproxy.Flip, Bit: 6}, "frame|EOF|closed|shut down|reset|handshake|broken pipe|invalid character|unknown protocol"},
	}
	for _, test := range tests {
		for _, way := range []faultproxy.Way{faultproxy.ToServer, faultproxy.ToClient} {
			for _, at := range []int64{inHandshake, inLoad, later} {
				f := test.fault
				f.Way, f.At = way, at
				t.Run(f.String(), func(t *testing.T) {
					s, c, summary, err := through(t, f, test.want == "")
					found := noticed(t, s.store, c.Node, summary, err)
					if test.want == "" {
						if found != "" {
							t.Errorf("%s, want a run that is fine", found)
						}
						return
					}
					if !strings.HasPrefix(found, "error: ") || !containsOne(found, test.want) {
						t.Errorf("%q, want an error with %s", found, test.want)
					}
					if !strings.Contains(found, "server0") && !strings.Contains(found, s.proxy.Addr()) {
						t.Errorf("%q does not name the server", found)
					}
				})
			}
		}
	}
}

// through runs a client against a server behind a fault until the fault has struck. A
// run with a harmless fault then ends.
func through(t *testing.T, f faultproxy.Fault, harmless bool) (behindProxy, Config, metrics.Summary, error) {
	t.Helper()
	for window := 50 * time.Millisecond; ; window *= 4 {
		s := newBehindProxy(t, "server0", "binary", f)
		c := brief()
		c.Hosts, c.CRC, c.Window = []string{s.proxy.Addr()}, true, window
		if !harmless {
			c.Window = patience // the fault ends it
		}
		summary, err := complete(context.Background(), c)
		if len(s.proxy.Struck()) > 0 {
			return s, c, summary, err
		}
		if window > 10*time.Second || !harmless {
			t.Fatalf("the fault did not strike; error %v", err)
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

// A black hole reports no error: the run ends when its launcher cancels it, and leaves
// no goroutine.
func TestBlackHole(t *testing.T) {
	for _, way := range []faultproxy.Way{faultproxy.ToServer, faultproxy.ToClient} {
		s := newBehindProxy(t, "server0", "binary", faultproxy.Fault{Kind: faultproxy.BlackHole, Way: way, At: 20_000})
		c := brief()
		c.Hosts, c.Window = []string{s.proxy.Addr()}, time.Hour
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			for len(s.proxy.Struck()) == 0 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		err := within(t, "the run", func() error {
			_, err := complete(ctx, c)
			return err
		})
		if err == nil || len(s.proxy.Struck()) != 1 {
			t.Errorf("%v: error %v, struck %v", way, err, s.proxy.Struck())
		}
	}
}

// TestFlips flips one bit at a random byte of each of many runs. With -crc every flip
// is noticed, with -verify full every flip in a reply. Without -crc, a flip in a request
// is noticed if it breaks the frame, or when the changed value is read and compared; the
// shares are logged. KVLAB_LONG=1 makes many more runs.
func TestFlips(t *testing.T) {
	runs, seed := 5, uint64(20261122)
	if long() {
		runs, seed = 500, uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	for _, mode := range []struct {
		name   string
		crc    bool
		verify int
		all    []bool // by way: whether every flip must be noticed
	}{
		{"-crc", true, 16, []bool{true, true}}, {"-verify full", false, 1, []bool{false, true}}, {"defaults", false, 16, []bool{false, false}},
	} {
		for _, way := range []faultproxy.Way{faultproxy.ToServer, faultproxy.ToClient} {
			rng := rand.New(rand.NewPCG(seed, uint64(way)))
			unnoticed, ways := 0, map[string]int{}
			for n := 0; n < runs; {
				f := faultproxy.Fault{Kind: faultproxy.Flip, Way: way, At: rng.Int64N(300_000), Bit: uint8(rng.IntN(8))}
				found, struck := flipOnce(t, f, mode.crc, mode.verify)
				if !struck {
					continue // the run was over before
				}
				n++
				if found == "" {
					if unnoticed++; mode.all[way] {
						t.Errorf("%s: %v is not noticed", mode.name, f)
					}
				}
				kind, _, _ := strings.Cut(found, ":")
				ways[kind]++
			}
			t.Logf("%s, %v: %d of %d flips not noticed; %v", mode.name, way, unnoticed, runs, ways)
		}
	}
}

func flipOnce(t *testing.T, f faultproxy.Fault, crc bool, verify int) (found string, struck bool) {
	t.Helper()
	s := newStore(t, "server0", "binary", engine.NewMutex())
	proxy := faultproxy.Start(t, s.addr, func(int) []faultproxy.Fault { return []faultproxy.Fault{f} })
	c := brief()
	c.Hosts, c.CRC, c.Verify = []string{proxy.Addr()}, crc, verify
	summary, err := complete(context.Background(), c)
	return noticed(t, s, c.Node, summary, err), len(proxy.Struck()) > 0
}
