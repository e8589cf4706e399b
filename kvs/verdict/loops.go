package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/verdict/bottleneck"
	"kvlab/kvs/verdict/ends"
	"kvlab/kvs/verdict/stages"
	"kvlab/metrics"
)

const (
	// idle is the share of the time in which a worker of a closed loop may have no round
	// in flight, beside the time that it uses a processor for. Runs measured 3 %.
	idle = 0.05
	// perCore is how much longer than its processor time a worker may take for it on an
	// idle machine.
	perCore = 1.5
	// unbroken is the processor time in seconds that a worker may need between two rounds
	// for it to keep its processor there. Go's runtime takes a processor away after 10 ms,
	// and a busy machine's kernel makes these of a fifth of it.
	unbroken = 0.002
)

// checkLittle: a closed loop has as many rounds in flight as it may, always: the sum of
// their times is the number of rounds times the window (Little, Operations Research 9,
// 1961), but for the workers' own work between two rounds.
func checkLittle(run *judged) finding {
	var evidence []string
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		if s.Offered != nil {
			continue
		}
		slots := float64(len(s.Workers) * run.Workload.InFlight())
		whole, unused := ends.SlotTime(run.Run, s)
		own := min(whole, ownTime(node, sums)*s.WindowLengthS)
		busy := sums.BusyS + float64(sums.Across)*s.WindowLengthS
		switch least := (1-idle)*whole - unused - own; {
		case busy < least || busy > 1.01*whole:
			return failed(node.Name, "the rounds of the window took %.3f s together, so %.1f were in flight at a time, not %.0f (Little's law)", busy, busy/s.WindowLengthS, slots)
		case sums.BusyS < least:
			return run.spanned(node, sums)
		}
		evidence = append(evidence, fmt.Sprintf("%.1f rounds of %s were in flight at a time, %.0f may be", busy/s.WindowLengthS, node.Name, slots))
	}
	if evidence == nil {
		return inapplicable("-rate: an open loop")
	}
	return passed("%s", strings.Join(evidence, "; "))
}

// spanned returns the finding of rounds that took longer than the window.
func (run *judged) spanned(node metrics.RunNode, sums *metrics.Rounds) finding {
	s := node.Summary
	mean := cmp.Or(s.Latency[metrics.OpLatency].Mean/1e6, sums.AcrossS) // no round that began in the window: all are as long as the longest
	return failed(node.Name, "TOO SHORT: the window of %.3g s is shorter than the longest round of calls, %.3g s: %d of %d rounds lasted all of it and counted nothing; want --secs %.0f",
		s.WindowLengthS, sums.AcrossS, sums.Across, len(s.Workers)*run.Workload.InFlight(), math.Ceil(1.2*max(sums.AcrossS, metrics.LeastRounds*mean)))
}

// enoughSlots is the least number of rounds that a client has in flight for checkEnds.
const enoughSlots = 16

// checkEnds: of the rounds that a closed loop has in flight when the window closes, at
// least an eighth is answered after it. Some workers are between two rounds.
func checkEnds(run *judged) finding {
	if run.Offered != nil || ends.Ended(run.Run) {
		return inapplicable("-rate: an open loop; or -ops: nothing is in flight at the end")
	}
	late, under := 0.0, 0.0
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		if s.Offered != nil || run.Workload.Batch() == 0 || len(s.Workers)*run.Workload.InFlight() < enoughSlots {
			continue
		}
		after, most := float64(sums.Early)+float64(sums.Ops)-float64(s.InWindow.Ops()), inFlight(run, sums)
		if run.Workload.Txn() > 0 { // some are refused, and wait: fewer end with their round
			if most = float64(len(s.Workers)) * float64(sums.Ops) / float64(max(1, sums.Rounds)); most < 8*enoughSlots {
				continue
			}
		}
		if late, under = late+after, under+most; after < most/8 {
			return failed(node.Name, "%.0f operations were answered after the window, of %.0f that were in flight at its end: replies of the drain are counted in", after, most)
		}
	}
	return passed("%.0f operations were answered after the window, an eighth of %.0f at least", late, under)
}

// ownTime returns the most workers of a client that are at a time between two rounds. On idle
// processors they take their processor time. On busy ones a worker may lose its processor
// there, and waits with one of the runtime's. If it needs that for long, as for large rounds of
// scans, the runtime takes it away too, and the worker waits for all others.
func ownTime(node metrics.RunNode, sums *metrics.Rounds) float64 {
	p := node.Summary.Saturation
	switch {
	case p.OwnCoresPercent < bottleneck.IdleCPU && p.ThrottledPercent == 0:
		return perCore * p.ProcessCPUPercent / 100
	case node.Config.MaxProcs > 0 && p.ProcessCPUPercent/100*node.Summary.WindowLengthS < unbroken*float64(sums.Rounds):
		return float64(node.Config.MaxProcs)
	}
	return math.Inf(1)
}

// checkBacklog: an open loop did not answer clearly more in the window than was due in it. A
// stall of a busy machine before the window leaves a backlog too, so this is a doubt.
func checkBacklog(run *judged) finding {
	switch {
	case run.Offered == nil:
		return inapplicable("no -rate: a closed loop")
	case run.Stages != nil:
		return finding(stages.Opening(run.Run))
	case run.Offered.Ahead(run.Ops):
		return doubted("", "%.1f %% of the operations that were due in the window were answered in it: the warm-up left some behind", 100*run.Offered.Achieved(run.Ops))
	}
	return passed("%d operations were due, %d answered", run.Offered.Ops, run.Ops)
}

// checkLength: the window is long beside the operations in it.
func checkLength(run *judged) finding { return finding(ends.Length(run.Run)) }

// checkTimeouts: no call took longer than it may. A worker takes the replies of its rounds
// one after the other.
func checkTimeouts(run *judged) finding {
	slowest := 0.0
	for _, node := range run.Clients() {
		if node.Config.Flags.Retry() {
			continue
		}
		limit := node.Config.Flags.CallTimeout().Seconds()
		longest := node.Summary.Latency[metrics.CallLatency].Max / 1e6
		slowest = max(slowest, longest)
		if limit > 0 && longest > limit*float64(run.Workload.InFlight())+1 {
			return failed(node.Name, "a call took %.3f s, -call-timeout is %g s", longest, limit)
		}
	}
	return passed("the longest call took %.3f s", slowest)
}

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
	case batch == 0 || run.Workload.BatchBytes() > 0 || run.Workload.Txn() > 0 || run.Restart != nil:
		return inapplicable("the rounds have no fixed size (-batch auto, -batch-bytes, -txn), or a server was killed")
	}
	all := 0.0
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		ops, w := batch*float64(run.Count(metrics.Server)), s.Stamps[metrics.OpLatency]
		after := float64(len(s.Workers)*run.Workload.InFlight()) * w.LongestS
		spots := float64(sums.Spots)*w.LongestS/ops + 1e-6*sums.BusyS // a spot takes the place of an operation, and has no latency; sums are rounded
		rounds, busy, short := w.SumS/ops, sums.BusyS-sums.EarlyS, 0.0
		if run.Workload.Ops() > 0 { // a worker's last round may be smaller
			short = after
		}
		if rounds > busy+after+spots || run.Count(metrics.Server) == 1 && s.Total.Scans == 0 && sums.Unknown == 0 && rounds < busy-spots-short {
			return failed(node.Name, "the operations' latencies are those of rounds of %.3f s together, the rounds in the window took %.3f s", rounds, busy)
		}
		all += rounds
	}
	return passed("the operations' latencies are those of rounds of %.3f s together", all)
}
