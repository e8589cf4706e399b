package loadgen

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"kvlab/kvs/engine"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// checkGoroutines waits until at most as many goroutines as before are left.
func checkGoroutines(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			var stacks [64 << 10]byte
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks[:], true)])
		}
	}
}

// A measurement of an hour ends at once with its context, returns the cause, and leaves
// no goroutine.
func TestMeasureEndsEarly(t *testing.T) {
	why := errors.New("enough")
	cancelled := func(cancel context.CancelCauseFunc, _ *store, _ *process) error { cancel(why); return nil }
	cut := func(_ context.CancelCauseFunc, server *store, _ *process) error { server.Cut(); return nil }
	tests := []struct {
		name   string
		change func(c *Config)
		stop   func(cancel context.CancelCauseFunc, server *store, e *process) error // as the window opens
		want   string
	}{
		{"by its context", func(*Config) {}, cancelled, "enough"},
		{"by its context, long before the next operation", func(c *Config) { c.Rate.OpsPerS, c.WarmUp, c.InFlight = 0.001, 0, 1 }, cancelled, "enough"},
		{"by its context, beside a server that hangs", func(*Config) {}, func(cancel context.CancelCauseFunc, _ *store, e *process) error {
			e.setLimit(1)
			go func() { <-e.full; cancel(why) }()
			return nil
		}, "enough"},
		{"by an error of the phase's hearer", func(*Config) {}, func(context.CancelCauseFunc, *store, *process) error { return why }, "enter window: enough"},
		{"by a server that goes", func(*Config) {}, cut, "to server server1: "},
		{"by a shared connection that goes", func(c *Config) { c.Connections = 2 }, cut, "to server server1: "},
	}
	for _, codec := range wire.Codecs {
		for _, test := range tests {
			t.Run(test.name+" over "+codec, func(t *testing.T) {
				e := newProcess(engine.NewMutex(), nil)
				_, hosts := newStores(t, 1, codec)
				server := newStore(t, "server1", codec, e)
				before := runtime.NumGoroutine()
				c := small()
				c.Workers, c.InFlight, c.Hosts, c.Codec, c.Window = 8, 3, append(hosts, server.addr), codec, time.Hour
				test.change(&c)
				g := connected(t, c)
				if err := g.Load(context.Background()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				err := within(t, "Measure", func() error {
					return g.Measure(ctx, func(p metrics.Phase) error {
						if p != metrics.Window {
							return nil
						}
						return test.stop(cancel, server, e)
					})
				})
				close(e.dead)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
				checkGoroutines(t, before)
			})
		}
	}
}

// A cancelled load ends too.
func TestLoadEndsEarly(t *testing.T) {
	c := small()
	_, c.Hosts = newStores(t, 2, c.Codec)
	g := connected(t, c)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if err := within(t, "Load", func() error { return g.Load(ctx) }); !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestConnectErrors(t *testing.T) {
	s := newStore(t, "server0", "gob", engine.NewMutex())
	c := small()
	c.Hosts = []string{s.addr}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Connect(context.Background()); !errors.Is(err, wire.ErrRefused) || !strings.Contains(err.Error(), "server 1 of 1") || !strings.Contains(err.Error(), s.addr) {
		t.Errorf("error %v, want a refusal that names the server", err)
	}
}
