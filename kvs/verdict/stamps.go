package verdict

import (
	"math"
	"slices"
	"time"

	"kvlab/metrics"
)

// The histograms keep three digits, and round up to microseconds.
const (
	meanShare  = 0.002
	meanMicros = 1.5
)

// checkStamps: a histogram's mean, mean square, maximum and numbers by octave are those of
// the sums that the workers kept beside it. The numbers are exact, so a quantile of the
// histogram lies in the octave in which it was.
func checkStamps(node, unit string, q metrics.Quantiles, w metrics.Stamps) finding {
	if n := float64(q.Values); n > 0 && q.OutOfRange == 0 {
		mean, square, longest := 1e6*w.SumS/n, 1e12*w.SquaresS2/n, 1e6*w.LongestS
		if math.Abs(q.Mean-mean) > meanShare*mean+meanMicros {
			return failed(node, "the histogram's mean latency of %s is %.1f us, that of the workers' sums %.1f us", unit, q.Mean, mean)
		}
		// A relative error of a value is twice that of its square.
		if math.Abs(q.Mean*q.Mean+q.StdDev*q.StdDev-square) > 2*meanShare*square+2*meanMicros*mean+meanMicros*meanMicros {
			return failed(node, "the histogram's latencies of %s spread by %.1f us about their mean, those of the workers' sums by %.1f us", unit, q.StdDev, math.Sqrt(max(0, square-mean*mean)))
		}
		if math.Abs(q.Max-longest) > meanShare*longest+meanMicros {
			return failed(node, "the histogram's maximum latency of %s is %.1f us, that of the workers %.1f us", unit, q.Max, longest)
		}
	}
	for k := range max(len(q.Octaves), len(w.Octaves)) {
		if held, want := octave(q.Octaves, k), octave(w.Octaves, k); held != want {
			return failed(node, "the histogram holds %d %s of less than %v and at least half of that, the workers count %d", held, unit, time.Microsecond<<k, want)
		}
	}
	return finding{}
}

func octave(all []uint64, k int) uint64 {
	if k < len(all) {
		return all[k]
	}
	return 0
}

// stamped returns the sums of the latencies of two clients.
func stamped(a, b metrics.Stamps) metrics.Stamps {
	all := slices.Clone(a.Octaves)
	for k := range b.Octaves {
		if k == len(all) {
			all = append(all, 0)
		}
		all[k] += b.Octaves[k]
	}
	return metrics.Stamps{SumS: a.SumS + b.SumS, SquaresS2: a.SquaresS2 + b.SquaresS2, LongestS: max(a.LongestS, b.LongestS), Octaves: all}
}

// checkBusy: the latencies of a closed loop's operations together are the times of its rounds
// that began in the window, times the operations of each. A round may go on after the window.
// One with scans ends when these are checked, its operations when its replies came.
func checkBusy(run *judged) finding {
	batch := float64(run.Workload.Batch())
	switch {
	case run.Offered != nil:
		return inapplicable("-rate: an open loop")
	case batch == 0 || run.Workload.BatchBytes() > 0 || run.Restart != nil:
		return inapplicable("the rounds have no fixed size (-batch auto, -batch-bytes), or a server was killed")
	}
	all := 0.0
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		ops, w := batch*float64(run.Count(metrics.Server)), s.Stamps[metrics.OpLatency]
		after := float64(len(s.Workers)*run.Workload.InFlight()) * w.LongestS
		spots := float64(sums.Spots)*w.LongestS/ops + 1e-6*sums.BusyS // a spot takes the place of an operation, and has no latency; sums are rounded
		rounds, busy := w.SumS/ops, sums.BusyS-sums.EarlyS
		if rounds > busy+after+spots || run.Count(metrics.Server) == 1 && s.Total.Scans == 0 && sums.Unknown == 0 && rounds < busy-spots {
			return failed(node.Name, "the operations' latencies are those of rounds of %.3f s together, the rounds in the window took %.3f s", rounds, busy)
		}
		all += rounds
	}
	return passed("the operations' latencies are those of rounds of %.3f s together", all)
}
