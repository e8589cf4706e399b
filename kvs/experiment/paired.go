package experiment

import (
	"errors"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

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
