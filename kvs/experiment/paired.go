package experiment

import (
	"errors"
	"fmt"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// minCommon is the smallest overlap of a pair's windows, as a share of the shorter one.
// The clients of one run have the same limit.
const minCommon = 0.95

// CheckCommonWindow rejects a pair whose windows overlap by less than 95 %. The verdict on
// a trial without a window says why there is none.
func CheckCommonWindow(a, b metrics.Run) metrics.Verdict {
	if a.WindowS <= 0 || b.WindowS <= 0 {
		return metrics.Verdict{Valid: true}
	}
	later := b.WindowStart.Sub(a.WindowStart).Seconds()
	common := min(a.WindowS, later+b.WindowS) - max(0, later)
	if share := max(0, common) / min(a.WindowS, b.WindowS); share < minCommon {
		return metrics.Verdict{Reason: fmt.Sprintf("the windows of the two trials have only %.0f %% in common", 100*share)}
	}
	return metrics.Verdict{Valid: true}
}

// ratioOf compares pairs of runs by a figure, which must be positive.
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

// serverCost is the servers' processor time per operation.
func serverCost(run metrics.Run) float64 { return run.CPUPerOp(metrics.Server) }

// bothCost is the processor time of servers and clients per operation.
func bothCost(run metrics.Run) float64 { return run.CPUPerOp(metrics.Server, metrics.Client) }
