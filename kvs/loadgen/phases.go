package loadgen

import (
	"sync/atomic"
	"time"

	"kvlab/metrics"
)

// schedule holds when the phases of a measurement begin. The window is decided during
// the warm-up, before it opens; until then every time is in the warm-up. Safe for
// concurrent use.
type schedule struct {
	window *atomic.Pointer[span]
	until  time.Time // the end of a probe, after which no round begins; zero without one
}

// span is a half-open interval of time.
type span struct{ opens, closes time.Time }

func newSchedule() schedule { return schedule{window: new(atomic.Pointer[span])} }

func (s schedule) decide(opens, closes time.Time) { s.window.Store(&span{opens, closes}) }

// at returns the phase of a reply that arrives at t, and the window if t is in it.
func (s schedule) at(t time.Time) (metrics.Phase, *span) {
	switch w := s.window.Load(); {
	case w == nil || t.Before(w.opens):
		return metrics.WarmUp, nil
	case t.Before(w.closes):
		return metrics.Window, w
	}
	return metrics.Drain, nil
}

// phaseAt is the type of schedule.at.
type phaseAt func(time.Time) (metrics.Phase, *span)

// over reports whether no more rounds begin.
func (s schedule) over(t time.Time) bool {
	if !s.until.IsZero() {
		return !t.Before(s.until)
	}
	w := s.window.Load()
	return w != nil && !t.Before(w.closes)
}

// overlap returns the part of the span that lies between two times.
func (s *span) overlap(from, to time.Time) time.Duration {
	if from.Before(s.opens) {
		from = s.opens
	}
	if to.After(s.closes) {
		to = s.closes
	}
	return to.Sub(from)
}

// boundaryCounts are a worker's verified operations near the window's ends, by slot:
// first those after it opens, then those before it closes. All operations of a call
// count in the slot of its reply.
type boundaryCounts [2 * metrics.EdgeSlots]uint64

// boundary returns the slot of a time in the window; false if it is far from both ends.
func (s *span) boundary(t time.Time) (slot int, ok bool) {
	length := metrics.EdgeSlot(s.closes.Sub(s.opens))
	if i := int(t.Sub(s.opens) / length); i < metrics.EdgeSlots {
		return i, true
	}
	if i := int((s.closes.Sub(t) - 1) / length); i < metrics.EdgeSlots {
		return 2*metrics.EdgeSlots - 1 - i, true
	}
	return 0, false
}
