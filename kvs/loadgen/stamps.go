package loadgen

import (
	"time"

	"kvlab/kvs"
	"kvlab/metrics"
	"kvlab/workload"
)

// stamps are the sums of some latencies that a worker keeps beside its recorder.
type stamps struct {
	octaves [metrics.Octaves]uint64
	sum     float64 // seconds
	squares float64 // seconds squared
	longest time.Duration
}

// add adds n latencies of one length; none of a call that has a spot alone.
func (s *stamps) add(took time.Duration, n uint64) {
	if n == 0 {
		return
	}
	seconds := took.Seconds()
	s.octaves[metrics.Octave(took)] += n
	s.sum += float64(n) * seconds
	s.squares += float64(n) * seconds * seconds
	s.longest = max(s.longest, took)
}

// witness adds an exchange's latencies to the worker's stamps, for the calls and operations
// that the recorder puts into the window's histograms. It takes them from the times at which
// the exchange was sent and its reply came.
func (w *worker) witness(r *round, x *exchange, at phaseAt) {
	if len(x.due) == 0 {
		if r.window != nil {
			w.calls.add(x.came-x.sent, 1)
			w.ops.add(r.came-r.begun, uint64(x.ops()))
			w.sums.Ops += uint64(x.ops())
		}
		return
	}
	_, window := at(r.from + x.due[len(x.due)-1])
	if window == nil {
		return
	}
	w.calls.add(x.came-x.sent, 1)
	for i, due := range x.due {
		if due >= window.opens-r.from && x.kinds[i] != kvs.ScanPart && i != x.spotAt {
			w.ops.add(r.came-r.from-due, 1)
			w.dues = workload.Dues(w.dues, due)
			w.sums.Ops++
		}
	}
}

// stamped checks the two times of an answered exchange against the next times that the worker
// took: sent must be before handed, and came after woken.
func (w *worker) stamped(x *exchange, woken moment) {
	if x.sent > x.handed || x.came < woken {
		w.sums.Mistaken++
	}
}

// summed returns the sums of all workers' stamps.
func (g *Generator) summed(of func(*worker) *stamps) metrics.Stamps {
	var all stamps
	for _, w := range g.workers {
		s := of(w)
		for i, n := range s.octaves {
			all.octaves[i] += n
		}
		all.sum, all.squares, all.longest = all.sum+s.sum, all.squares+s.squares, max(all.longest, s.longest)
	}
	return metrics.Stamps{SumS: all.sum, SquaresS2: all.squares, LongestS: all.longest.Seconds(), Octaves: metrics.TrimOctaves(all.octaves)}
}
