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

// goroutines waits until at most as many goroutines as before are left.
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
	tests := []struct {
		name string
		stop func(cancel context.CancelCauseFunc, servers []*store, phase metrics.Phase) error
		want string
	}{
		{"by its context", func(cancel context.CancelCauseFunc, _ []*store, phase metrics.Phase) error {
			if phase == metrics.Window {
				cancel(why)
			}
			return nil
		}, "enough"},
		{"by whoever is told of the phase", func(_ context.CancelCauseFunc, _ []*store, phase metrics.Phase) error {
			if phase == metrics.Window {
				return why
			}
			return nil
		}, "enter window: enough"},
		{"by a server that goes", func(_ context.CancelCauseFunc, servers []*store, phase metrics.Phase) error {
			if phase == metrics.Window {
				servers[1].Cut()
			}
			return nil
		}, "to server server1: "},
	}
	for _, codec := range wire.Codecs {
		for _, test := range tests {
			t.Run(test.name+" over "+codec, func(t *testing.T) {
				servers, hosts := newStores(t, 3, codec)
				before := runtime.NumGoroutine()
				c := small()
				c.Workers, c.InFlight, c.Hosts, c.Codec, c.Window = 8, 3, hosts, codec, time.Hour
				g := connected(t, c)
				if err := g.Load(context.Background()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				err := within(t, "Measure", func() error {
					return g.Measure(ctx, func(p metrics.Phase) error { return test.stop(cancel, servers, p) })
				})
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
