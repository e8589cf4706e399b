package experiment

import (
	"math"
	"slices"
)

// The search climbs by climb. It ends when the lowest rate that broke the objective is at
// most near above the highest that kept it, after mostSteps, or after mostDown without a
// rate that kept it.
const (
	climb     = math.Sqrt2
	near      = 0.1
	mostSteps = 30
	mostDown  = 10
)

// rates is the state of a search for the rate up to which an objective holds.
//
//	climb    from the first rate up by a half-power of two until one breaks the
//	         objective, or down by two of them until one keeps it
//	bisect   between the highest that kept it and the lowest that broke it, at
//	         their geometric mean
//
// Every trial has fresh processes and an empty queue, so that nothing drains between
// steps. No step is repeated.
type rates struct {
	first float64
	tried []try // in the order of their rates
}

// try is whether a rate kept the objective.
type try struct {
	rate float64
	kept bool
}

// around returns the rate up to which the objective was kept, and the lowest rate above
// it; 0 for none. Where results contradict each other, the two are the place that has the
// fewest broken below it and kept above it, the lowest of several such places.
func (r *rates) around() (kept, broken float64) {
	wrong := 0 // at a place below all rates
	for _, t := range r.tried {
		if t.kept {
			wrong++
		}
	}
	best, place := wrong, 0
	for i, t := range r.tried {
		if wrong++; t.kept {
			wrong -= 2
		}
		if wrong < best {
			best, place = wrong, i+1
		}
	}
	if place > 0 {
		kept = r.tried[place-1].rate
	}
	if place < len(r.tried) {
		broken = r.tried[place].rate
	}
	return kept, broken
}

// next returns the rate to try after some steps, and 0 when the search is over.
func (r *rates) next(steps int) float64 {
	kept, broken := r.around()
	found := kept > 0 && broken > 0 && broken <= kept*(1+near)
	none := kept == 0 && steps >= mostDown
	switch {
	case found || none || steps >= mostSteps:
		return 0
	case kept == 0 && broken == 0:
		return r.first
	case broken == 0:
		return kept * climb
	case kept == 0:
		return broken / (climb * climb)
	}
	return math.Sqrt(kept * broken)
}

// learn records whether a rate kept the objective.
func (r *rates) learn(rate float64, kept bool) {
	above := slices.IndexFunc(r.tried, func(t try) bool { return t.rate > rate })
	if above < 0 {
		above = len(r.tried)
	}
	r.tried = slices.Insert(r.tried, above, try{rate, kept})
}
