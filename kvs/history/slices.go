package history

import (
	"cmp"
	"sync/atomic"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// A slice lasts until every worker has sent sliceRounds rounds in it. It takes at least
// minSlice, and at most maxSlice, which applies if a worker has little to do.
const (
	sliceRounds = 3
	minSlice    = 20 * time.Millisecond
	maxSlice    = time.Second
)

// pauseFactor is the pause after a slice, as a multiple of its recording and
// verification time: these take a fifth of the run.
const pauseFactor = 4

// Slices makes a client's workers record slices of the run at intervals, verifies each
// while the workload continues, and discards it. So it holds one slice at a time, however
// long the run is. It also shares the fragments of the slices that all clients record.
type Slices struct {
	client    int
	clock     clock.Clock
	keys      *keySet
	recorders []*Recorder
	slice     atomic.Int32 // being recorded; 0 between slices
	recording atomic.Int32 // recorders with a fragment that is not complete

	// Used by the goroutine of Start, and after stop.
	number   int32 // of the last slice
	found    metrics.Check
	verdicts verdicts
	shared   shared
	err      error // of sharing a slice
}

// New returns the slices of a client that records operations on keys, and a
// Recorder for each of its workers.
func New(client, workers int, keys Keys) (*Slices, []*Recorder) {
	s := &Slices{client: client, clock: clock.New(), keys: newKeySet(keys)}
	s.found.Keys = len(keys.Names)
	for id := range workers {
		r := &Recorder{writer: metrics.MakeWriteID(client, id, 0), keys: s.keys, slices: s, orders: make([]batchOrder, len(keys.Names))}
		for i := range r.orders {
			r.orders[i].deletes = keys.Deleters > 0
		}
		s.recorders = append(s.recorders, r)
	}
	return s, s.recorders
}

// Start begins to record slices, the first before it returns. share receives this
// client's part of each joint slice, which all clients record by the plan; the plan of a
// single client has none. No worker calls share. stop ends the recording, verifies the last
// slice, and returns the first error of share. The caller calls it after the workers have
// ended.
func (s *Slices) Start(plan metrics.SlicePlan, begins time.Time, share func(metrics.Slice) error) (stop func() error) {
	s.shared, s.err = shared{plan: plan, begins: begins, share: share, next: 1}, nil
	s.open()
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.run(over)
	}()
	return func() error {
		close(over)
		<-done
		for _, r := range s.recorders {
			if r.part != nil && !r.over {
				r.end(time.Now())
			}
		}
		s.verify()
		return s.err
	}
}

func (s *Slices) run(over <-chan struct{}) {
	for ; ; s.open() {
		begun := time.Now()
		if !poll(over, s.full) {
			return
		}
		s.slice.Store(0)
		if !poll(over, func(time.Duration) bool { return s.recording.Load() == 0 }) {
			return
		}
		s.verify()
		took := time.Since(begun)
		if !poll(over, func(waited time.Duration) bool { return s.due(took, waited) }) {
			return
		}
	}
}

// due reports whether the next slice begins, given the duration of the last one and the
// time since its end. A slice that would delay a shared one does not begin.
func (s *Slices) due(took, waited time.Duration) bool {
	left := s.shared.until(time.Now())
	return left <= 0 || waited > pauseFactor*took && left > 2*took
}

// open begins the next slice.
func (s *Slices) open() {
	s.shared.open(time.Now())
	s.number++
	for _, r := range s.recorders {
		r.rounds.Store(0)
	}
	s.slice.Store(s.number)
}

// full reports whether the slice has enough operations, given the time since its
// beginning.
func (s *Slices) full(since time.Duration) bool {
	least, sent := int32(sliceRounds), false // the fewest rounds of a worker, and whether any was sent
	for _, r := range s.recorders {
		rounds := r.rounds.Load()
		least, sent = min(least, rounds), sent || rounds > 0
	}
	switch {
	case s.shared.number > 0 && since > s.shared.plan.Every/(1+pauseFactor):
		return sent // the next shared slice is near
	case s.shared.number == 0 && s.shared.until(time.Now()) <= 0:
		return true
	}
	return since >= minSlice && (least >= sliceRounds || since > maxSlice)
}

// poll waits until f returns true; f receives the time waited. poll returns false if
// over is closed first.
func poll(over <-chan struct{}, f func(waited time.Duration) bool) bool {
	since := time.Now()
	tick := time.Tick(2 * time.Millisecond)
	for !f(time.Since(since)) {
		select {
		case <-tick:
		case <-over:
			return false
		}
	}
	return true
}

// verify verifies the slice's fragments and discards them. It ignores a fragment of an
// earlier slice, as if its worker had not recorded.
func (s *Slices) verify() {
	var fragments []*fragment
	for _, r := range s.recorders {
		if f := r.done.Swap(nil); f != nil && f.slice == s.number {
			fragments = append(fragments, f)
		}
	}
	if len(fragments) == 0 {
		return
	}
	s.err = cmp.Or(s.err, s.shared.give(s.client, s.clock, s.keys.Keys, fragments))
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
}

// Found returns the result of the verification. It is called after stop.
func (s *Slices) Found() metrics.Check { return s.found }

// maxViolation is the length of the longest history that a Violation contains in full:
// the launcher receives it as one record.
const maxViolation = 10_000

// Violation returns the first history whose verdict is Illegal or Unknown, or nil. It
// is called after stop.
func (s *Slices) Violation() *metrics.Violation {
	v := s.verdicts.first
	if v != nil && len(v.History.Ops) > maxViolation {
		v.History.Ops = v.Part
	}
	return v
}
