package models

import (
	"testing"
	"time"
)

// simulate applies the sizer to a load of calls that take as long as they take in any
// number of workers, and returns the workers after each tick. offered is the number of calls
// in flight in a tick.
func simulate(s *sizer, took time.Duration, ticks int, offered func(tick int) int) (workers []int) {
	for tick := range ticks {
		under := offered(tick)
		l := poolLoad{busy: min(under, s.workers), queued: max(under-s.workers, 0)}
		if under > 0 {
			l.mean = took * time.Duration(max(under, s.workers)) / time.Duration(s.workers)
		}
		s.tick(l)
		workers = append(workers, s.workers)
	}
	return workers
}

func constant(n int) func(int) int { return func(int) int { return n } }

// The pool grows as far as the calls need, and not beyond its limits.
func TestAutoGrows(t *testing.T) {
	for _, test := range []struct{ offered, least, most, want int }{
		{1, 4, 64, 4}, {3, 4, 64, 4}, {4, 4, 64, 6}, {40, 4, 64, 48}, {1000, 4, 64, 64}, {10, 1, 1, 1},
	} {
		s := &sizer{workers: test.least, least: test.least, most: test.most}
		workers := simulate(s, 100*time.Microsecond, 30, constant(test.offered))
		if s.workers != test.want {
			t.Errorf("%d calls in flight: %d workers, want %d; %v", test.offered, s.workers, test.want, workers)
		}
	}
}

// A pool without calls returns to its smallest size, no sooner than after a second of
// calm at each step.
func TestAutoShrinks(t *testing.T) {
	s := &sizer{workers: 64, least: 4, most: 64}
	workers := simulate(s, 100*time.Microsecond, 200, constant(0))
	if s.workers != 4 {
		t.Errorf("%d workers, want 4: %v", s.workers, workers)
	}
	for tick := 1; tick < len(workers); tick++ {
		if workers[tick] < workers[tick-1] && (tick+1)%autoCalm != 0 {
			t.Errorf("it shrank in tick %d: %v", tick, workers)
		}
	}
}

// Any constant load leads to a constant size, and one that alternates faster than the
// pool shrinks does too.
func TestAutoHysteresis(t *testing.T) {
	for _, took := range []time.Duration{20 * time.Microsecond, 20 * time.Millisecond} {
		for high := range 100 {
			for _, low := range []int{high, high / 2, 0} {
				s := &sizer{workers: 2, least: 2, most: 512}
				workers := simulate(s, took, 300, func(tick int) int {
					if tick%autoCalm < autoCalm/2 {
						return high
					}
					return low
				})
				for tick := 100; tick < len(workers); tick++ {
					if workers[tick] != workers[99] {
						t.Fatalf("%d and %d calls of %v: %d workers in tick 99 and %d in tick %d: %v", high, low, took, workers[99], workers[tick], tick, workers)
					}
				}
			}
		}
	}
}

// A mean time that rises in several ticks adds workers although some are free. One tick
// does not, nor does the first call after a pause.
func TestAutoRisingMean(t *testing.T) {
	s := &sizer{workers: 10, least: 2, most: 100}
	mean := 10 * time.Millisecond
	for range 20 {
		s.tick(poolLoad{busy: 6, mean: mean})
	}
	s.tick(poolLoad{busy: 6, mean: 20 * mean})
	s.tick(poolLoad{busy: 6, mean: mean})
	s.tick(poolLoad{})
	s.tick(poolLoad{busy: 6, mean: 100 * mean})
	if s.workers != 10 {
		t.Fatalf("%d workers, want 10", s.workers)
	}
	s.tick(poolLoad{})
	for range autoRises + 1 {
		mean = mean * 3 / 2
		s.tick(poolLoad{busy: 6, mean: mean})
	}
	if s.workers != 15 {
		t.Errorf("%d workers after a rise, want 15", s.workers)
	}
}

// A calm pool whose calls are slow keeps its workers: they wait, as for a disk.
func TestAutoKeepsWaitingWorkers(t *testing.T) {
	s := &sizer{workers: 40, least: 2, most: 512}
	if workers := simulate(s, 5*time.Millisecond, 100, constant(10)); s.workers != 40 {
		t.Errorf("%d workers, want 40: %v", s.workers, workers)
	}
}
