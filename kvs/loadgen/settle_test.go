package loadgen

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"kvlab/metrics"
)

// settling is a loaded generator with a short warm-up and window.
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

// The window opens after one warm-up, after two, or when the answer comes.
func TestSettle(t *testing.T) {
	const late = 500 * time.Millisecond
	for _, test := range []struct {
		name   string
		settle func(context.Context) (bool, error)
		least  time.Duration // from the warm-up's beginning to the window's
	}{
		{"nobody asks", nil, 200 * time.Millisecond},
		{"enough", func(context.Context) (bool, error) { return false, nil }, 200 * time.Millisecond},
		{"once more", func(context.Context) (bool, error) { return true, nil }, 400 * time.Millisecond},
		{"late answer", func(context.Context) (bool, error) { time.Sleep(late); return false, nil }, late + 150*time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := settling(t, nil)
			asked := 0
			if test.settle != nil {
				g.Settle = func(ctx context.Context) (bool, error) { asked++; return test.settle(ctx) }
			}
			before := time.Now()
			var phases []metrics.Phase
			var opened time.Time
			if err := within(t, "Measure", func() error {
				return g.Measure(context.Background(), func(p metrics.Phase) error {
					if phases = append(phases, p); p == metrics.Window {
						opened = time.Now()
					}
					return nil
				})
			}); err != nil {
				t.Fatal(err)
			}
			s := g.Summary()
			if len(phases) != 3 || phases[1] != metrics.Window || asked > 1 || (asked == 1) != (test.settle != nil) {
				t.Errorf("phases %v, asked %d times", phases, asked)
			}
			if got := s.WindowStart.Sub(before); got < test.least || opened.Before(s.WindowStart) {
				t.Errorf("the window opened after %v, want %v or more, and was announced %v later", got, test.least, opened.Sub(s.WindowStart))
			}
			if s.InWindow.Ops() == 0 || s.BytesInWindow.Sent == 0 || s.BytesInWindow.Sent >= s.Bytes.Sent {
				t.Errorf("%d operations in the window, %d of %d bytes sent in it", s.InWindow.Ops(), s.BytesInWindow.Sent, s.Bytes.Sent)
			}
		})
	}
}

// An answer that fails, and one that never comes, end with their error.
func TestSettleFails(t *testing.T) {
	why := errors.New("no answer")
	g := settling(t, nil)
	g.Settle = func(context.Context) (bool, error) { return false, why }
	nothing := func(metrics.Phase) error { return nil }
	if err := within(t, "Measure", func() error { return g.Measure(context.Background(), nothing) }); !errors.Is(err, why) || !strings.HasPrefix(err.Error(), "end the warm-up: ") {
		t.Errorf("error %v, want %v", err, why)
	}
	g = settling(t, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	g.Settle = func(ctx context.Context) (bool, error) {
		cancel(why)
		<-ctx.Done()
		return false, context.Cause(ctx)
	}
	if err := within(t, "Measure", func() error { return g.Measure(ctx, nothing) }); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
}

// An open loop whose next operation is hours away ends with its window, although
// that was decided on while it slept.
func TestOpenLoopEndsWithItsWindow(t *testing.T) {
	g := settling(t, func(c *Config) { c.Rate.OpsPerS = 0.001 })
	g.Settle = func(context.Context) (bool, error) { time.Sleep(300 * time.Millisecond); return false, nil }
	if err := within(t, "Measure", func() error {
		return g.Measure(context.Background(), func(metrics.Phase) error { return nil })
	}); err != nil {
		t.Fatal(err)
	}
}
