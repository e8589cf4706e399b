package serial

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"kvlab/kvs/history"
	"kvlab/metrics"
)

// CheckTogether checks what several clients recorded in the same slices, as history.Together puts
// it together, and returns the first fault as a record; nil for none.
func CheckTogether(ctx context.Context, all []metrics.Slice, offsets map[int]metrics.ClockOffsetBounds) (metrics.JointCheck, *metrics.Violation) {
	var first *metrics.Violation
	illegal := uint64(0)
	found := history.Together(ctx, all, offsets, func(parts []history.Part) (int, error) {
		h, err := merged(parts)
		if err != nil {
			return 0, err
		}
		if f := Check(&h); f != nil {
			if illegal++; first == nil {
				first = f.Violation()
			}
		}
		return h.Committed(), nil
	})
	found.Serial, found.Illegal = true, illegal
	if first != nil {
		found.First = first.Why
	}
	return found, first
}

// merged returns the history of several clients, by a common clock.
func merged(parts []history.Part) (all History, err error) {
	for _, p := range parts {
		var h History
		if err := p.Unpack(&h); err != nil {
			return all, err
		}
		if all.Keys == nil {
			all.Keys = h.Keys
		}
		if !slices.Equal(all.Keys, h.Keys) {
			return all, errors.New("the clients recorded different keys")
		}
		for _, a := range h.Attempts {
			a.CallNs, a.ReturnNs = a.CallNs-p.Most, a.ReturnNs-p.Least
			all.Attempts = append(all.Attempts, a)
		}
		for _, s := range h.Spans {
			if s.BegunNs != metrics.Never {
				s.BegunNs -= p.Least
			}
			s.EndedNs -= p.Most
			all.Spans = append(all.Spans, s)
		}
	}
	return all, nil
}

// Violation returns the fault as a record. It leaves out a history that is too long for one, but
// for the attempts of the fault.
func (f *Fault) Violation() *metrics.Violation {
	short := *f
	if len(f.History.Attempts) > history.MaxViolation {
		short.History.Attempts = f.Part
	}
	text, err := json.Marshal(short)
	if err != nil {
		return &metrics.Violation{Why: err.Error()} // never: a fault holds numbers and words
	}
	return &metrics.Violation{Why: f.Why, Serial: text}
}
