package verdict

import (
	"fmt"
	"math"
	"time"

	"kvlab/kvs/verdict/ends"
	"kvlab/metrics"
	"kvlab/workload/profile"
)

// minOverlap is the share of the shortest window that all clients must have
// measured together.
const minOverlap = 0.95

// CheckCommonWindow rejects a pair of runs whose windows overlap by less than minOverlap.
// The verdict on a run without a window says why there is none.
func CheckCommonWindow(a, b metrics.Run) metrics.Verdict {
	later := b.WindowStart.Sub(a.WindowStart).Seconds()
	common := min(a.WindowS, later+b.WindowS) - max(0, later)
	shorter := min(a.WindowS, b.WindowS)
	if share := max(0, common) / shorter; shorter > 0 && share < minOverlap {
		return metrics.Verdict{Reason: fmt.Sprintf("the windows of the two trials have only %.0f %% in common", 100*share)}
	}
	return metrics.Verdict{Valid: true}
}

const (
	// peakRate bounds the rate at a window's ends, in mean rates of a load that does not change.
	peakRate = 3
	// readingS bounds the time that a node takes to read its counts.
	readingS = 0.1
)

// checkRate: the result is the rate of the operations in the common window, and these are
// no more than the clients'. Each client's stretch of it is known to an edge slot.
func checkRate(run *judged) finding {
	if ops := run.InWindow().Ops(); run.Ops > ops {
		return failed("", "%d operations are counted in the common window, the clients have %d in theirs", run.Ops, ops)
	}
	known := 2. / (20 * metrics.EdgeSlots)
	for _, node := range run.Clients() { // one that was told late has a longer window
		known = max(known, node.Summary.WindowLengthS/run.WindowS-1+2./(20*metrics.EdgeSlots))
	}
	if math.Abs(run.OpsPerS*run.WindowS-float64(run.Ops)) > known*float64(run.Ops) {
		return failed("", "%.1f ops/s are not %d operations in %.3f s", run.OpsPerS, run.Ops, run.WindowS)
	}
	return passed("%.1f ops/s, %d operations in %.3f s", run.OpsPerS, run.Ops, run.WindowS)
}

// checkServersWindow: the servers applied in the clients' common window the operations
// whose replies the clients counted in it, but for those in flight at its ends. Each server
// marks its count every few milliseconds by its own clock. The marks of a server that was
// killed are lost.
func checkServersWindow(run *judged) finding {
	if run.Restart != nil {
		return inapplicable("--restart-at: the marks of the killed server are lost")
	}
	if run.Store != nil {
		return inapplicable("driver %s: its servers mark no counts", run.Store.Driver)
	}
	bound, counted := 0.0, float64(run.Ops)
	for _, node := range run.Clients() {
		sums := roundsOf(node)
		bound += inFlight(run, sums) + profile.Parsed(run.Workload.Rate()).Crest()*node.Summary.OpsPerS()*node.Summary.Edges.SlotS
		counted += float64(sums.Spots)
	}
	least, most, known := AppliedInWindow(run.Run)
	if !known {
		return inapplicable("the servers mark no counts")
	}
	if counted < least-bound || counted > most+bound {
		return failed("", "the servers applied %.0f to %.0f operations in the window, the clients counted %.0f: they differ by more than the %.0f that were in flight", least, most, counted, bound)
	}
	return passed("the servers applied %.0f to %.0f operations in the window, the clients counted %.0f", least, most, counted)
}

// AppliedInWindow returns bounds of the operations that the servers applied in the clients'
// common window; false if they do not mark their counts.
func AppliedInWindow(run metrics.Run) (least, most float64, known bool) {
	opens, closes := run.WindowStart, run.WindowStart.Add(time.Duration(run.WindowS*float64(time.Second)))
	errorS := 0.0
	for _, node := range run.Clients() {
		errorS = max(errorS, clockErrorS(run, node.Name))
	}
	for _, node := range run.Servers() {
		s := node.Summary
		if s == nil || s.Opening == nil || s.Closing == nil {
			return 0, 0, false
		}
		errorS := errorS + clockErrorS(run, node.Name)
		fewest, before := s.Opening.Within(opens, errorS)
		after, all := s.Closing.Within(closes, errorS)
		least += max(0, float64(after)-float64(before))
		most += float64(min(all, s.Total.Ops())) - float64(fewest)
		known = true
	}
	return least, most, known
}

func secondsApart(a, b time.Time) float64 { return math.Abs(a.Sub(b).Seconds()) }

// clockErrorS bounds the error of a node's clock against that of the others.
func clockErrorS(run metrics.Run, node string) float64 {
	bounds, _ := run.Preflight.ClockOffsetBounds(node)
	return 0.002 + 2*time.Duration(bounds.MostNs-bounds.LeastNs).Seconds()
}

// lateS returns how much shorter than its length both the launcher's clock and the client's
// intervals may find a warm-up, on a machine whose processors are far too few too.
func lateS(length float64) float64 { return 1 + 0.05*length }

// checkHeard: by the client's intervals, the window had as many operations as the client
// says; and by these and the launcher's clock, the warm-up was no shorter than its flag.
func checkHeard(run *judged) finding {
	heard := uint64(0)
	for _, node := range run.Clients() {
		s, h, sums := node.Summary, node.Heard, roundsOf(node)
		heard += h.Ops
		end := h.Start.Add(time.Duration(h.LengthS * float64(time.Second)))
		// A client that waits for a processor says late that its window opens, or closes.
		unknown := readingS + secondsApart(h.Start, s.WindowStart) + secondsApart(end, s.WindowEnd())
		bound := inFlight(run, sums) + unsent(s) + peakRate*profile.Parsed(run.Workload.Rate()).Crest()*s.OpsPerS()*unknown
		if math.Abs(float64(h.Ops)-float64(s.InWindow.Ops()+sums.Spots)) > bound {
			return failed(node.Name, "the client counts %d operations in the window, its seconds %d: they differ by more than the %.0f that were in flight", s.InWindow.Ops(), h.Ops, bound)
		}
		warmUp := run.Workload.WarmUp().Seconds()
		if run.WarmUp != nil && run.WarmUp.Extended {
			warmUp *= 2
		}
		if most := max(h.WarmUpS, h.WarmUpLengthS); warmUp-most > lateS(warmUp) { // the launcher may hear late that it began
			return failed(node.Name, "the warm-up had %.3f s by the launcher's clock, not %.3f s", most, warmUp)
		}
	}
	return passed("heard %d operations in the window, the clients count %d", heard, run.InWindow().Ops())
}

// silenceS is how long in seconds a client may be silent that reports each second: the launcher
// ends a run whose node is silent for longer (trial.DefaultTimeouts).
const silenceS = 8

// checkDrift: the rate in the window's second half is that in its first, as far as its seconds
// can tell.
func checkDrift(run *judged) finding {
	d := run.Drift
	switch {
	case run.Restart != nil:
		return inapplicable("--restart-at: a server was away in the window")
	case profile.Parsed(run.Workload.Rate()).Stages != nil:
		return inapplicable("-rate: its stages change the load")
	case ends.Ended(run.Run):
		return inapplicable("-ops: the rate falls when the first workers have ended")
	case d == nil && run.WindowS >= 4*silenceS:
		return failed("", "the clients tell of fewer than 4 of the seconds of a window of %.0f s", run.WindowS)
	case d == nil && run.WindowS >= silenceS:
		return doubted("", "the clients tell of fewer than 4 of the seconds of a window of %.0f s", run.WindowS)
	case d == nil:
		return inapplicable("-secs: fewer than 4 whole seconds")
	case !d.Stationary:
		return doubted("", "the rate drifted by %+.0f %% from the first half of the window to the second", 100*d.DriftShare)
	}
	return passed("the rate drifted by %+.1f %% from the first half of the window to the second, trend p %.2g", 100*d.DriftShare, d.TrendP)
}
