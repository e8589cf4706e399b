package node

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// stepped returns what time.Now would have returned at t if the wall clock had been set
// by a number of seconds before: the same monotonic reading, and another time of day.
func stepped(t time.Time, seconds int64) time.Time {
	layout := (*struct { // of time.Time: its seconds begin at bit 30 (time/time.go)
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t))
	layout.wall += uint64(seconds << 30)
	return t
}

// A wall clock that jumps by an hour either way while the window is open moves no
// date and changes no length.
func TestClockJumps(t *testing.T) {
	for _, jump := range []int64{3600, -3600} {
		l, stdin, stdout := newLauncher(t)
		node, _ := Controlled(context.Background(), stdin, stdout)
		var shift atomic.Int64
		node.now = func() time.Time { return stepped(time.Now(), shift.Load()) }
		clock := clock.New()
		begun := time.Now()
		epoch := ClockSync{Date: time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC), MonotonicNS: clock.Ns(begun)}
		node.clock = runClockOf(epoch)
		var counts metrics.Counts
		r, err := NewReporter(node, func() metrics.Counts { counts.Gets += 100; return counts }, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.SetPeer("127.0.0.1:1"); err != nil {
			t.Fatal(err)
		}
		enter := func(phase metrics.Phase) (before, after time.Time) {
			t.Helper()
			time.Sleep(2 * shortest)
			before = time.Now()
			if err := r.Enter(phase); err != nil {
				t.Fatal(err)
			}
			return before, time.Now()
		}
		opening, opened := enter(metrics.Window)
		shift.Store(jump)
		time.Sleep(2 * shortest)
		if err := r.Cut(); err != nil {
			t.Fatal(err)
		}
		shift.Store(-jump)
		closing, closed := enter(metrics.Drain)
		took := time.Since(begun).Seconds()
		least, most := closing.Sub(opened).Seconds(), closed.Sub(opening).Seconds()
		if w := r.Window(); w.WindowLengthS < least || w.WindowLengthS > most || w.WindowStart.Before(epoch.Date) || w.WindowStart.Sub(epoch.Date).Seconds() > took {
			t.Errorf("jump %d s: a window of %v s from %v, want %v to %v s after %v", jump, w.WindowLengthS, w.WindowStart, least, most, epoch.Date)
		}
		end, last := 0.0, epoch.Date.Add(-time.Millisecond) // the two clocks are a little apart
		for intervals := 0; intervals < 3; {
			record := l.next(t).Record
			if at := record.Time; at.Before(last) || at.Sub(epoch.Date).Seconds() > took+0.001 {
				t.Errorf("jump %d s: a record of %v, after one of %v and within %v s of %v", jump, at, last, took, epoch.Date)
			}
			last = record.Time
			if i := record.Interval; i != nil {
				intervals++
				if math.Abs(i.StartS-end) > 1e-9 || i.LengthS <= 0 || i.LengthS > took {
					t.Errorf("jump %d s: an interval of %v s from %v on, after one until %v", jump, i.LengthS, i.StartS, end)
				}
				end = i.StartS + i.LengthS
			}
		}
	}
}

// The launcher's moments come back from dates, to the nanosecond; what has no date
// stays so.
func TestCalendar(t *testing.T) {
	c := Node{clock: runClock{time.Unix(1_000_000, 5), time.Now()}}
	for _, after := range []time.Duration{0, 1, -time.Hour, 300 * 24 * time.Hour} {
		moment := c.clock.moment.Add(after)
		if date := c.ToRun(moment); !date.Equal(time.Unix(1_000_000, 5).Add(after)) || c.FromRun(date).Sub(moment) != 0 {
			t.Errorf("%v after the epoch is %v", after, date)
		}
	}
	if zero := (time.Time{}); !c.ToRun(zero).IsZero() || !c.FromRun(zero).IsZero() {
		t.Error("no time has a date")
	}
}
