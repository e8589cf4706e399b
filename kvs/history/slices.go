package history

import (
	"cmp"
	"time"

	"kvlab/metrics"
)

// Slices makes a client's workers record slices of the run at intervals, verifies each
// while the workload continues, and discards it. So it holds one slice at a time, however
// long the run is. It also shares the fragments of the slices that all clients record.
type Slices struct {
	*Schedule
	client    int
	keys      *KeySet
	recorders []*Recorder

	// Used by the goroutine of Start, and after stop.
	found    metrics.Check
	verdicts verdicts
}

// New returns the slices of a client that records operations on keys, and a
// Recorder for each of its workers.
func New(client, workers int, keys Keys) (*Slices, []*Recorder) {
	s := &Slices{client: client, keys: NewKeySet(keys)}
	lanes := []*Lane(nil)
	s.Schedule, lanes = NewSchedule(workers, s.end, s.verify)
	s.found.Keys = len(keys.Names)
	for id, lane := range lanes {
		r := &Recorder{writer: metrics.MakeWriteID(client, id, 0), keys: s.keys, lane: lane, clock: s.Clock, orders: make([]batchOrder, len(keys.Names))}
		for i := range r.orders {
			r.orders[i].deletes = keys.Deleters > 0
		}
		s.recorders = append(s.recorders, r)
	}
	return s, s.recorders
}

// end ends the parts of the last slice.
func (s *Slices) end() {
	for _, r := range s.recorders {
		if r.part != nil && !r.over {
			r.end(time.Now())
		}
	}
}

// verify verifies the slice's fragments and discards them. It ignores a fragment of an
// earlier slice, as if its worker had not recorded.
func (s *Slices) verify(number int32) error {
	var fragments []*fragment
	for _, r := range s.recorders {
		if f := r.done.Swap(nil); f != nil && f.slice == number {
			fragments = append(fragments, f)
		}
	}
	if len(fragments) == 0 {
		return nil
	}
	err := s.Share(s.client, func(slice *metrics.Slice, most int) error { return packed(slice, s.keys.Keys, fragments, most) })
	s.found.Slices++
	h := metrics.History{Slice: s.found.Slices, Deleters: s.keys.Deleters}
	for _, f := range fragments {
		h.Spans = append(h.Spans, f.span)
		for _, violation := range f.violations {
			s.found.Order++
			s.found.First = cmp.Or(s.found.First, violation)
		}
	}
	for key, name := range s.keys.Names {
		h.Key, h.Ops = name, nil
		for _, f := range fragments {
			h.Ops = append(h.Ops, f.ops[key]...)
		}
		s.found.Ops += uint64(len(h.Ops))
		s.verdicts.verify(h)
	}
	s.found.Illegal, s.found.Unknown = s.verdicts.illegal, s.verdicts.unknown
	if v := s.verdicts.first; v != nil {
		s.found.First = cmp.Or(s.found.First, v.Why)
	}
	return err
}

// Report sets the result of the verification in a summary. It is called after stop.
func (s *Slices) Report(to *metrics.Summary) { to.Check = &s.found }

// MaxViolation is the length of the longest history that a Violation contains in full:
// the launcher receives it as one record.
const MaxViolation = 10_000

// Violation returns the first history whose verdict is Illegal or Unknown, or nil. It
// is called after stop.
func (s *Slices) Violation() *metrics.Violation {
	v := s.verdicts.first
	if v != nil && len(v.History.Ops) > MaxViolation {
		v.History.Ops = v.Part
	}
	return v
}
