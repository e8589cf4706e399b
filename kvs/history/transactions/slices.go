package transactions

import (
	"time"

	"kvlab/kvs/history"
	"kvlab/kvs/history/serial"
	"kvlab/metrics"
)

// Slices makes a client's workers record attempts in slices of the run, verifies each slice
// while the workload continues, and discards it. It also shares the parts of the slices that all
// clients record.
type Slices struct {
	*history.Schedule
	client    int
	keys      []string
	recorders []*Recorder

	// Used by the goroutine of Start, and after stop.
	found metrics.Check
	first *metrics.Violation
}

// New returns the slices of a client that records transactions of at most some operations, on
// some keys, and a Recorder for each of its workers.
func New(client, workers, ops int, keys history.Keys) (*Slices, []*Recorder) {
	s := &Slices{client: client, keys: keys.Names, found: metrics.Check{Keys: len(keys.Names), Serial: true}}
	lanes, set := []*history.Lane(nil), history.NewKeySet(keys)
	s.Schedule, lanes = history.NewSchedule(workers, s.end, s.verify)
	for id, lane := range lanes {
		s.recorders = append(s.recorders, &Recorder{writer: metrics.MakeWriteID(client, id, 0), keys: set, lane: lane, clock: s.Clock, part: part{
			attempts: make([]serial.Attempt, 0, max(leastOfOne, mostAttempts/workers)),
			ops:      make([]serial.Op, 0, max(leastOfOne*ops, mostOps/workers)),
		}})
	}
	return s, s.recorders
}

// end ends the parts of the last slice.
func (s *Slices) end() {
	for _, r := range s.recorders {
		if r.open {
			r.end(r.clock.Ns(time.Now()))
		}
	}
}

// verify verifies the slice's parts. It ignores a part of an earlier slice, as if its worker
// had not recorded.
func (s *Slices) verify(slice int32) error {
	var parts []*part
	for _, r := range s.recorders {
		if p := r.done.Swap(nil); p != nil && p.slice == slice {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	err := s.Share(s.client, func(to *metrics.Slice, most int) error {
		return to.Pack(s.history(parts, most/len(parts)))
	})
	h := s.history(parts, mostAttempts)
	s.found.Slices++
	s.found.Ops += uint64(h.Committed())
	if f := serial.Check(&h); f != nil {
		s.found.Illegal++
		if s.first == nil {
			s.first, s.found.First = f.Violation(), f.Why // before the parts' memory is used again
		}
	}
	return err
}

// history returns the first attempts of each part, at most most.
func (s *Slices) history(parts []*part, most int) serial.History {
	h := serial.History{Keys: s.keys}
	for _, p := range parts {
		kept := min(len(p.attempts), most)
		h.Attempts = append(h.Attempts, p.attempts[:kept]...)
		h.Spans = append(h.Spans, spanOf(p.span, p.attempts[kept:]))
	}
	return h
}

// spanOf returns the span of a part without its last attempts: it ends before their first
// write.
func spanOf(span metrics.WorkerSpan, omitted []serial.Attempt) metrics.WorkerSpan {
	for _, a := range omitted {
		for _, o := range a.Ops {
			if o.Wrote != metrics.NoWrite {
				span.Last, span.EndedNs = o.Wrote.Version()-1, a.CallNs
				return span
			}
		}
	}
	return span
}

// Report sets the result of the verification in a summary. It is called after stop.
func (s *Slices) Report(to *metrics.Summary) { to.Check = &s.found }

// Violation returns the first history that is not strictly serializable, or nil. It is called
// after stop.
func (s *Slices) Violation() *metrics.Violation { return s.first }
