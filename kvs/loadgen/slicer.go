package loadgen

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/kvs/history"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/clock"
	"kvlab/workload"
)

// How long a slice lasts: until every worker has sent so many rounds in it, but
// not for less than shortest, nor for more than longest, which is for workers
// that have little to do.
const (
	sliceRounds = 3
	shortest    = 20 * time.Millisecond
	longest     = time.Second
)

// The pause after a slice is so many times as long as its recording and
// verification took: together they have a fifth of the time.
const pauseFactor = 4

// slicer has the workers record a slice of the run now and then, verifies it
// beside them, and forgets it. So the memory does not grow with the run: it is
// that of a slice. Of those that all clients record, others get a part.
type slicer struct {
	client    int
	clock     clock.Clock
	sample    *sample
	tapes     []*tape
	slice     atomic.Int32 // that is being recorded; 0 between slices
	recording atomic.Int32 // tapes that have a part of it, not delivered

	mu     sync.Mutex
	number int32   // of the slice that parts belong to; guarded by mu
	parts  []*part // guarded by mu

	// Of the goroutine that start starts, and of whoever has stopped it.
	found metrics.Check
	bad   *metrics.Violation // the first
	joint joint              // has no slices when there are no other clients
	err   error              // of sharing one
}

// newSlicer gives each worker a tape.
func newSlicer(c Config, plan *workload.Plan, workers []*worker) (*slicer, error) {
	clock, err := clock.New()
	if err != nil {
		return nil, fmt.Errorf("-check: %w", err)
	}
	s := &slicer{client: c.Index, clock: clock, sample: newSample(c, plan)}
	s.found.Keys = len(s.sample.names)
	for _, w := range workers {
		w.tape = newTape(value.NewWriter(c.Index, w.id), s)
		s.tapes = append(s.tapes, w.tape)
	}
	return s, nil
}

// ns is a time as histories count it.
func (s *slicer) ns(t time.Time) int64 { return s.clock.Ns(t) }

// receive takes a part in. One that comes too late is dropped, as if its worker
// had not recorded.
func (s *slicer) receive(p *part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.slice == s.number {
		s.parts = append(s.parts, p)
	}
	s.recording.Add(-1)
}

// start begins to record slices, the first before it returns. stop ends it and
// verifies the last one; it is for after the workers' end. Its error is of sharing
// a slice.
func (s *slicer) start(j joint) (stop func() error) {
	s.joint, s.err = j, nil
	s.open()
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.run(over)
	}()
	return func() error {
		close(over)
		<-done
		for _, t := range s.tapes {
			t.finish()
		}
		s.verify()
		return s.err
	}
}

func (s *slicer) run(over <-chan struct{}) {
	for ; ; s.open() {
		begun := time.Now()
		if !poll(over, begun, s.full) {
			return
		}
		s.slice.Store(0)
		if !poll(over, time.Now(), func(time.Duration) bool { return s.recording.Load() == 0 }) {
			return
		}
		s.verify()
		took := time.Since(begun)
		if !poll(over, time.Now(), func(waited time.Duration) bool { return s.due(took, waited) }) {
			return
		}
	}
}

// due reports whether the next slice begins, when the last took so long and is
// so long ago. One that would be in the way of a joint slice waits for that.
func (s *slicer) due(took, waited time.Duration) bool {
	left := s.joint.until(time.Now())
	return left <= 0 || waited > pauseFactor*took && left > 2*took
}

// open begins the next slice.
func (s *slicer) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joint.open(time.Now())
	s.number++
	s.parts = nil
	for _, t := range s.tapes {
		t.rounds.Store(0)
	}
	s.slice.Store(s.number)
}

// full reports whether the slice has enough after a while.
func (s *slicer) full(since time.Duration) bool {
	least, sent := int32(sliceRounds), false // the fewest rounds of a worker, and whether there is one at all
	for _, t := range s.tapes {
		rounds := t.rounds.Load()
		least, sent = min(least, rounds), sent || rounds > 0
	}
	switch {
	case s.joint.number > 0 && since > s.joint.plan.Every()/(1+pauseFactor):
		return sent // what there is must do, for the next is not far
	case s.joint.number == 0 && s.joint.until(time.Now()) <= 0:
		return true
	}
	return since >= shortest && (least >= sliceRounds || since > longest)
}

// poll waits until f, which is told for how long, and reports whether it came to
// that before all was over.
func poll(over <-chan struct{}, since time.Time, f func(waited time.Duration) bool) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !f(time.Since(since)) {
		select {
		case <-tick.C:
		case <-over:
			return false
		}
	}
	return true
}

// verify verifies the slice's parts and forgets them.
func (s *slicer) verify() {
	s.mu.Lock()
	parts := s.parts
	s.parts = nil
	s.mu.Unlock()
	if len(parts) == 0 {
		return
	}
	if err := s.joint.give(s.client, s.clock, s.sample.names, parts); err != nil {
		s.err = cmp.Or(s.err, err)
	}
	s.found.Slices++
	h := metrics.History{Slice: s.found.Slices}
	for _, p := range parts {
		h.Spans = append(h.Spans, p.span)
		for _, fault := range p.order {
			s.found.Order++
			s.found.First = cmp.Or(s.found.First, fault)
		}
	}
	for key, name := range s.sample.names {
		h.Key, h.Ops = name, nil
		for _, p := range parts {
			h.Ops = append(h.Ops, p.ops[key]...)
		}
		s.found.Ops += uint64(len(h.Ops))
		s.judge(h)
	}
}

// judge verifies one key's history.
func (s *slicer) judge(h metrics.History) {
	r := history.Verify(h)
	switch r.Outcome {
	case history.OK:
		return
	case history.Illegal:
		s.found.Illegal++
	default:
		s.found.Unknown++
	}
	s.found.First = cmp.Or(s.found.First, r.Why)
	if s.bad == nil {
		if len(h.Ops) > keptOps {
			h.Ops = r.Part
		}
		s.bad = &metrics.Violation{Why: r.Why, History: h, Part: r.Part}
	}
}

// keptOps is how long a history may be to be kept whole: it must travel to the
// launcher as one record. Of a longer one its contradiction is kept.
const keptOps = 10_000

// Violation is the first history that was not linearizable, or not certainly;
// nil when there is none. It is for after Measure.
func (g *Generator) Violation() *metrics.Violation {
	if g.slicer == nil {
		return nil
	}
	return g.slicer.bad
}
