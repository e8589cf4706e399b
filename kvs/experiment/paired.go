package experiment

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// minCommon is the share of the shorter window that the windows of a pair must have in
// common, as those of one run's clients.
const minCommon = 0.95

// CheckCommonWindow rejects a pair whose windows have too little in common. A trial
// without a window has a verdict that says why.
func CheckCommonWindow(a, b metrics.Run) metrics.Verdict {
	if a.WindowS <= 0 || b.WindowS <= 0 {
		return metrics.Verdict{Valid: true}
	}
	end := func(run metrics.Run) time.Time {
		return run.WindowStart.Add(time.Duration(run.WindowS * float64(time.Second)))
	}
	start, stop := a.WindowStart, end(a)
	if b.WindowStart.After(start) {
		start = b.WindowStart
	}
	if other := end(b); other.Before(stop) {
		stop = other
	}
	if share := max(0, stop.Sub(start).Seconds()) / min(a.WindowS, b.WindowS); share < minCommon {
		return metrics.Verdict{Reason: fmt.Sprintf("the windows of the two trials have only %.0f %% in common, and both are to last as long", 100*share)}
	}
	return metrics.Verdict{Valid: true}
}

// ratioOf compares pairs of runs by a figure, which must be above 0.
func ratioOf(pairs [][]metrics.Run, figure func(metrics.Run) float64) (stats.Ratio, error) {
	var a, b []float64
	for _, pair := range pairs {
		a, b = append(a, figure(pair[0])), append(b, figure(pair[1]))
	}
	if slices.Min(a) <= 0 || slices.Min(b) <= 0 {
		return stats.Ratio{}, errors.New("a node did not say what it used")
	}
	r, _ := stats.RatioOf(a, b, true, stats.TogetherConfidence)
	return r, nil
}

// opsPerS is a run's throughput.
func opsPerS(run metrics.Run) float64 { return run.OpsPerS }

// serverCost is the processor time of an operation on the servers.
func serverCost(run metrics.Run) float64 { return run.CPUPerOp(metrics.Server) }

// bothCost is that on servers and clients.
func bothCost(run metrics.Run) float64 { return run.CPUPerOp(metrics.Server, metrics.Client) }
