package loadgen

import (
	"context"
	"math"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/metrics"
)

// pausedSummary runs an open or a closed loop whose server pauses from a moment on, which counts
// from the opening of the window.
func pausedSummary(t *testing.T, c Config, after, pause time.Duration) metrics.Summary {
	t.Helper()
	p := &paused{Engine: engine.NewMutex()}
	c.Hosts = []string{newStore(t, "server0", "binary", p).addr}
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	g.Begins = time.Now()
	from := g.Begins.Add(c.WarmUp + after)
	p.pause(from, from.Add(pause))
	nothing := func(metrics.Phase) error { return nil }
	if err := within(t, "Measure", func() error { return g.Measure(context.Background(), nothing) }); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Latency().Collect(0, 1); err != nil {
		t.Fatal(err)
	}
	return g.Summary()
}

// late is a conn whose Send returns when the window is over.
type late struct {
	driver.Conn
	closes time.Time
}

func (c late) Send(call *kvs.Call) {
	c.Conn.Send(call)
	<-time.After(time.Until(c.closes))
}

// A call is received and counted also if the window is over before the worker has as many
// in flight as it may have.
func TestFirstCallOutlastsWindow(t *testing.T) {
	c := small()
	c.Workers, c.InFlight = 1, 3
	s := newStore(t, "server0", c.Codec, engine.NewMutex())
	c.Hosts = []string{s.addr}
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := g.Draw(context.Background()); err != nil {
		t.Fatal(err)
	}
	g.opened = time.Now()
	closes := g.opened.Add(200 * time.Millisecond)
	everyConn(func(_ *worker, conn driver.Conn) driver.Conn { return late{conn, closes} })(g)
	if err := g.drive(context.Background(), g.opened, fixed(g.opened, closes)); err != nil {
		t.Fatal(err)
	}
	if got, want := g.Summary().Total, s.service.Counts()[c.Node]; got != want {
		t.Errorf("the client counts %+v, and the server %+v", got, want)
	}
}

// spanning is a conn that has the window open and close while its call is in flight.
type spanning struct {
	driver.Conn
	s      schedule
	window time.Duration
}

func (c spanning) Wait(call *kvs.Call) error {
	if phase, _ := c.s.at(now()); phase == metrics.WarmUp {
		opens := time.Now().Add(time.Millisecond)
		c.s.decide(opens, opens.Add(c.window), metrics.EdgeSlot(c.window))
		<-time.After(time.Until(opens.Add(c.window)))
	}
	return c.Conn.Wait(call)
}

// A round that is longer than the window is in none of its sums but the one for such rounds.
func TestRoundAcrossTheWindow(t *testing.T) {
	c := small()
	c.Workers = 1
	c.Hosts = []string{newStore(t, "server0", c.Codec, engine.NewMutex()).addr}
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := g.Draw(context.Background()); err != nil {
		t.Fatal(err)
	}
	s := newSchedule()
	everyConn(func(_ *worker, conn driver.Conn) driver.Conn { return spanning{conn, s, c.Window} })(g)
	if err := within(t, "drive", func() error { return g.drive(context.Background(), time.Now(), s) }); err != nil {
		t.Fatal(err)
	}
	got := g.workers[0].sums
	if got.AcrossS < c.Window.Seconds() {
		t.Errorf("the round of a window of %v took %v s", c.Window, got.AcrossS)
	}
	got.AcrossS = 0
	if want := (metrics.Rounds{Across: 1, MostOps: uint64(c.Batch)}); got != want {
		t.Errorf("sums %+v, want %+v", got, want)
	}
}

// A call that began in the window counts with its own latency when its reply comes in the
// drain, but is no throughput.
func TestCallsThatEndInTheDrain(t *testing.T) {
	t.Parallel()
	c := small()
	c.Window = 500 * time.Millisecond
	s := pausedSummary(t, c, 100*time.Millisecond, 700*time.Millisecond)
	tally, calls := s.Peers[0].Latency, s.Latency[metrics.CallLatency]
	if calls.Values != tally.Due.Calls || tally.Replied.Calls != s.InWindow.Calls {
		t.Errorf("%d calls in the histogram, %+v; %d replies in the window", calls.Values, tally, s.InWindow.Calls)
	}
	// Each worker has a call in flight at the close, and may have had one at the opening.
	if d := int64(tally.Due.Calls) - int64(tally.Replied.Calls); d < 0 || d > int64(c.Workers) {
		t.Errorf("%d calls were due, %d answered", tally.Due.Calls, tally.Replied.Calls)
	}
	if calls.Max < 300_000 {
		t.Errorf("the longest call took %v us of a pause that ends 300 ms after the window", calls.Max)
	}
}

// Every operation of an open loop that is due in the window has its latency, from the
// moment that the seed says, across both ends of the window and through a pause.
func TestOpenLoopForgetsNothing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		after time.Duration
	}{
		{"at the opening", -100 * time.Millisecond}, {"inside", 300 * time.Millisecond}, {"at the close", 800 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			const pause = 400 * time.Millisecond
			c := open(2000)
			s := pausedSummary(t, c, test.after, pause)
			op, tally := s.Latency[metrics.OpLatency], s.Peers[0].Latency
			var sums metrics.Rounds
			arrivals := uint64(0)
			for _, w := range s.Workers {
				sums.Ops, arrivals = sums.Ops+w.Rounds.Ops, arrivals+w.Rounds.Offered
			}
			if s.Offered.Ops != arrivals || sums.Ops != arrivals || op.Values != arrivals || tally.Due.Ops() != arrivals {
				t.Errorf("%d due, %d answered, %d in the histogram, %d counted; the workers offered %d", s.Offered.Ops, sums.Ops, op.Values, tally.Due.Ops(), arrivals)
			}
			if tally.Replied.Ops() != s.InWindow.Ops() {
				t.Errorf("%d operations were answered in the window, the latencies count %d", s.InWindow.Ops(), tally.Replied.Ops())
			}
			if want := 1e6 * s.Stamps[metrics.OpLatency].SumS / float64(sums.Ops); math.Abs(op.Mean-want) > want*0.002+1.5 {
				t.Errorf("mean latency %v us, the sums give %v", op.Mean, want)
			}
			// Each operation that is due in the pause waits for its end.
			longest := (test.after + pause - max(0, test.after)).Seconds()
			shortest := max(0, test.after+pause-c.Window).Seconds()
			if least := 0.8 * c.Rate.OpsPerS * (longest*longest - shortest*shortest) / 2; s.Stamps[metrics.OpLatency].SumS < least {
				t.Errorf("all operations together took %v s, want at least %v", s.Stamps[metrics.OpLatency].SumS, least)
			}
		})
	}
}
