package experiment

import "math"

// The search's steps: it climbs by climb, and ends when the lowest rate that broke
// the promise is at most near above the highest that kept it, after mostSteps, or
// after mostDown without a rate that kept it.
const (
	climb     = math.Sqrt2
	near      = 0.05
	mostSteps = 30
	mostDown  = 10
)

// Search looks for the highest rate at which a promise is kept, by one trial at a
// time. It is a state machine without a clock or a store: Next says what to try,
// Learn what it showed.
//
//	climb    from the first rate up by a half-power of two until one breaks it,
//	         or down by two of them until one keeps it
//	bisect   between the highest that kept it and the lowest that broke it, at
//	         their geometric mean
//
// Every trial has fresh processes and an empty queue, so there is nothing to drain
// between two steps. No step is repeated: a store that breaks its promise once
// in a while has a lower rate to show for it.
type Search struct {
	next   float64
	kept   float64 // 0: none
	broken float64 // 0: none
	steps  int
}

// NewSearch returns a search that begins at a rate above 0.
func NewSearch(first float64) *Search { return &Search{next: first} }

// Next returns the rate to try, and false when the search is over.
func (s *Search) Next() (rate float64, ok bool) {
	found := s.kept > 0 && s.broken > 0 && s.broken <= s.kept*(1+near)
	none := s.kept == 0 && s.steps >= mostDown
	return s.next, !found && !none && s.steps < mostSteps
}

// Learn takes in whether the rate that was tried kept the promise.
func (s *Search) Learn(rate float64, kept bool) {
	s.steps++
	switch {
	case kept:
		s.kept = max(s.kept, rate)
	case s.broken == 0 || rate < s.broken:
		s.broken = rate
	}
	switch {
	case s.broken == 0:
		s.next = s.kept * climb
	case s.kept == 0:
		s.next = s.broken / (climb * climb)
	default:
		s.next = math.Sqrt(s.kept * s.broken)
	}
}

// Found returns the highest rate that kept the promise and the lowest that broke
// it; 0 for none.
func (s *Search) Found() (kept, broken float64) { return s.kept, s.broken }
