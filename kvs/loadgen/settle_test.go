package loadgen

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/metrics"
)

// settling returns a loaded generator with a short warm-up and window.
func settling(t *testing.T, change func(*Config)) *Generator {
	t.Helper()
	c := small()
	c.Workers, c.WarmUp, c.Window = 4, 200*time.Millisecond, 200*time.Millisecond
	if change != nil {
		change(&c)
	}
	_, c.Hosts = newStores(t, 1, "binary")
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return g
}

// The window opens after one warm-up, after two, or when the answer comes, exactly, by
// the test's clock.
func TestSettle(t *testing.T) {
	const lateAnswer = 500 * time.Millisecond
	for _, test := range []struct {
		name   string
		settle func(begin time.Time) time.Time
		opens  time.Duration // the window, after the warm-up's beginning
	}{
		{"nobody asks", nil, 200 * time.Millisecond},
		{"enough", func(time.Time) time.Time { return time.Time{} }, 200 * time.Millisecond},
		{"once more", func(begin time.Time) time.Time { return begin.Add(400 * time.Millisecond) }, 400 * time.Millisecond},
		{"late answer", func(begin time.Time) time.Time { time.Sleep(lateAnswer); return begin }, lateAnswer + 150*time.Millisecond + decideLead},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			g := &Generator{config: Config{WarmUp: 200 * time.Millisecond}}
			if test.settle != nil {
				g.Settle = func(context.Context, time.Duration) (time.Time, time.Duration, error) {
					return test.settle(begin), 0, nil
				}
			}
			opens, _, err := g.settle(context.Background(), begin)
			if got := opens.Sub(begin); got != test.opens || err != nil {
				t.Errorf("%s: the window opens after %v, %v; want %v", test.name, got, err, test.opens)
			}
		})
	}
}

// An answer that fails, and one that never comes, end with their error.
func TestSettleFails(t *testing.T) {
	why := errors.New("no answer")
	g := settling(t, nil)
	g.Settle = func(context.Context, time.Duration) (time.Time, time.Duration, error) { return time.Time{}, 0, why }
	nothing := func(metrics.Phase) error { return nil }
	if err := within(t, "Measure", func() error { return g.Measure(context.Background(), nothing) }); !errors.Is(err, why) || !strings.HasPrefix(err.Error(), "end the warm-up: ") {
		t.Errorf("error %v, want %v", err, why)
	}
	g = settling(t, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	g.Settle = func(ctx context.Context, _ time.Duration) (time.Time, time.Duration, error) {
		cancel(why)
		<-ctx.Done()
		return time.Time{}, 0, context.Cause(ctx)
	}
	if err := within(t, "Measure", func() error { return g.Measure(ctx, nothing) }); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

// An open loop whose next operation is hours away ends with its window, even if the
// window is decided while it sleeps.
func TestOpenLoopEndsWithItsWindow(t *testing.T) {
	t.Parallel()
	g := settling(t, func(c *Config) { c.Rate.OpsPerS = 0.001 })
	g.Settle = func(context.Context, time.Duration) (time.Time, time.Duration, error) {
		time.Sleep(300 * time.Millisecond)
		return time.Time{}, 0, nil
	}
	if err := within(t, "Measure", func() error {
		return g.Measure(context.Background(), func(metrics.Phase) error { return nil })
	}); err != nil {
		t.Fatal(err)
	}
}

// slowed is a conn whose calls take some time.
type slowed struct {
	driver.Conn
	takes time.Duration
}

func (c slowed) Wait(call *kvs.Call) error {
	<-time.After(c.takes)
	return c.Conn.Wait(call)
}

// The launcher hears how long the rounds take when all workers have made three, however
// short the warm-up is, and decides the window's length, without a warm-up in the window.
// No count depends on when it is decided.
func TestWindowLength(t *testing.T) {
	t.Parallel()
	const takes, length = 150 * time.Millisecond, 900 * time.Millisecond
	for _, warmUp := range []time.Duration{0, 100 * time.Millisecond} {
		g := settling(t, func(c *Config) { c.WarmUp, c.InFlight = warmUp, 2 })
		everyConn(func(_ *worker, conn driver.Conn) driver.Conn { return slowed{conn, takes} })(g)
		var announced time.Time
		asked := 0
		g.Settle = func(_ context.Context, round time.Duration) (time.Time, time.Duration, error) {
			if asked++; asked > 1 {
				t.Errorf("warm-up of %v: asked again", warmUp)
			}
			if round < takes || !g.warm() {
				t.Errorf("warm-up of %v: asked with rounds of %v, want %v or more, and three of each worker", warmUp, round, takes)
			}
			return time.Time{}, length + round, nil
		}
		if err := within(t, "Measure", func() error {
			return g.Measure(context.Background(), func(p metrics.Phase) error {
				if p == metrics.Window {
					announced = time.Now()
				}
				return nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		s := g.Summary()
		if announced.Before(s.WindowStart) {
			t.Errorf("warm-up of %v: the window is announced before it opens", warmUp)
		}
		sums := s.Workers[0].Rounds
		if s.WindowLengthS <= length.Seconds() || s.InWindow.Ops() == 0 || sums.BusyS > 2*1.01*s.WindowLengthS || sums.Across > 0 {
			t.Errorf("warm-up of %v: a window of %v s, %d operations, sums %+v", warmUp, s.WindowLengthS, s.InWindow.Ops(), sums)
		}
		for _, w := range s.Workers {
			if w.Drawn+w.Loaded != w.Verified {
				t.Errorf("%d operations drawn, %d verified, %d of the load", w.Drawn, w.Verified, w.Loaded)
			}
		}
	}
}
