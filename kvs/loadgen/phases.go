package loadgen

import (
	"math"
	"sync/atomic"
	"time"

	"kvlab/metrics"
)

// moment is a time since the program's start. A call reads four moments. They are cheaper to
// read than time.Now, which reads the date as well, and cheaper to compare.
type moment = time.Duration

// started is the origin of moments.
var started = time.Now()

func now() moment { return time.Since(started) }

// Clock returns the time since the program's start by the clock of the window and of the
// latencies.
func Clock() time.Duration { return now() }

func momentOf(t time.Time) moment { return t.Sub(started) }

// schedule holds when the phases of a measurement begin. The window is decided during
// the warm-up, before it opens; until then every time is in the warm-up. Without a warm-up
// its end is decided in the window. Safe for concurrent use.
type schedule struct {
	window *atomic.Pointer[span]
	until  moment // the end of a probe, after which no round begins; 0 without one
}

// span is a half-open interval of time.
type span struct {
	opens, closes moment
	slot          time.Duration // of its boundaryCounts
}

// never is the end of a window until its end is decided.
const never moment = math.MaxInt64

func newSchedule() schedule { return schedule{window: new(atomic.Pointer[span])} }

// decide sets the window. closes is zero while it is not known.
func (s schedule) decide(opens, closes time.Time, slot time.Duration) {
	w := &span{momentOf(opens), never, slot}
	if !closes.IsZero() {
		w.closes = momentOf(closes)
	}
	s.window.Store(w)
}

// decided reports whether the window's end is known.
func (s schedule) decided() bool {
	w := s.window.Load()
	return w != nil && w.closes != never
}

// at returns the phase of a reply that arrives at t, and the window if t is in it.
func (s schedule) at(t moment) (metrics.Phase, *span) {
	switch w := s.window.Load(); {
	case w == nil || t < w.opens:
		return metrics.WarmUp, nil
	case t < w.closes:
		return metrics.Window, w
	}
	return metrics.Drain, nil
}

// phaseAt is the type of schedule.at.
type phaseAt func(moment) (metrics.Phase, *span)

// over reports whether no more rounds begin.
func (s schedule) over(t moment) bool {
	if s.until != 0 {
		return t >= s.until
	}
	w := s.window.Load()
	return w != nil && t >= w.closes
}

// left returns the time until the window closes; 0 if that is not decided.
func (s schedule) left(t moment) time.Duration {
	if !s.decided() {
		return 0
	}
	return s.window.Load().closes - t
}

// overlap returns the part of the span that lies between two times.
func (s *span) overlap(from, to moment) time.Duration {
	return min(to, s.closes) - max(from, s.opens)
}

// boundaryCounts are a worker's verified operations near the window's ends, by slot: first
// the slots after it opens, then the slots before it closes. All operations of a call
// count in the slot of its reply.
type boundaryCounts [2 * metrics.EdgeSlots]uint64

// boundary returns the slot of a time in the window; false if it is far from both ends.
func (s *span) boundary(t moment) (slot int, ok bool) {
	if i := int((t - s.opens) / s.slot); i < metrics.EdgeSlots {
		return i, true
	}
	if i := int((s.closes - t - 1) / s.slot); i < metrics.EdgeSlots {
		return 2*metrics.EdgeSlots - 1 - i, true
	}
	return 0, false
}
