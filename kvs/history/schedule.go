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

// Schedule decides when a client's workers record, each in its Lane, and when what they
// recorded is verified.
type Schedule struct {
	Clock clock.Clock

	lanes     []*Lane
	end       func()
	verify    func(slice int32) error
	slice     atomic.Int32 // being recorded; 0 between slices
	recording atomic.Int32 // lanes with a part that is not complete

	// Used by the goroutine of Start, and after stop.
	number int32 // of the last slice
	shared shared
	err    error // of verify
}

// Lane is the state of a worker's part of a slice. Its methods belong to the worker.
type Lane struct {
	schedule *Schedule
	rounds   atomic.Int32 // sent in the slice
}

// Slice returns the number of the slice to record, from 1; 0 between slices.
func (l *Lane) Slice() int32 { return l.schedule.slice.Load() }

// Begin begins the worker's part of the slice with a round.
func (l *Lane) Begin() {
	l.rounds.Store(1)
	l.schedule.recording.Add(1)
}

// Round counts a further round.
func (l *Lane) Round() { l.rounds.Add(1) }

// End ends the worker's part: it records no more rounds.
func (l *Lane) End() { l.rounds.Store(sliceRounds) }

// Deliver says that the worker's part is complete.
func (l *Lane) Deliver() { l.schedule.recording.Add(-1) }

// NewSchedule returns a schedule and the lanes of its workers. verify verifies what was
// recorded in a slice. end is called after the workers have ended, before the last verify: it
// ends their parts.
func NewSchedule(workers int, end func(), verify func(slice int32) error) (*Schedule, []*Lane) {
	s := &Schedule{Clock: clock.New(), end: end, verify: verify}
	for range workers {
		s.lanes = append(s.lanes, &Lane{schedule: s})
	}
	return s, s.lanes
}

// Start begins to record slices, the first before it returns. share receives this
// client's part of each joint slice, which all clients record by the plan; the plan of a
// single client has none. No worker calls share. stop ends the recording, verifies the last
// slice, and returns the first error of share or verify. The caller calls it after the workers have
// ended.
func (s *Schedule) Start(plan metrics.SlicePlan, begins time.Time, share func(metrics.Slice) error) (stop func() error) {
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
		s.end()
		s.verified()
		return s.err
	}
}

func (s *Schedule) run(over <-chan struct{}) {
	for ; ; s.open() {
		begun := time.Now()
		if !poll(over, s.full) {
			return
		}
		s.slice.Store(0)
		if !poll(over, func(time.Duration) bool { return s.recording.Load() == 0 }) {
			return
		}
		s.verified()
		took := time.Since(begun)
		if !poll(over, func(waited time.Duration) bool { return s.due(took, waited) }) {
			return
		}
	}
}

func (s *Schedule) verified() { s.err = cmp.Or(s.err, s.verify(s.number)) }

// due reports whether the next slice begins, given the duration of the last one and the
// time since its end. A slice that would delay a shared one does not begin.
func (s *Schedule) due(took, waited time.Duration) bool {
	left := s.shared.until(time.Now())
	return left <= 0 || waited > pauseFactor*took && left > 2*took
}

// open begins the next slice.
func (s *Schedule) open() {
	s.shared.open(time.Now())
	s.number++
	for _, l := range s.lanes {
		l.rounds.Store(0)
	}
	s.slice.Store(s.number)
}

// full reports whether the slice has enough operations, given the time since its
// beginning.
func (s *Schedule) full(since time.Duration) bool {
	least, sent := int32(sliceRounds), false // the fewest rounds of a worker, and whether any was sent
	for _, l := range s.lanes {
		rounds := l.rounds.Load()
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
