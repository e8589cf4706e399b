package sweep

import (
	"slices"

	"kvlab/metrics"
)

// Point is what the trials of one point came to.
type Point struct {
	Values []string  // of the knobs
	Rates  []float64 // operations per second of each VALID trial, in their order
	Failed []metrics.Trial
}

// mostFailed is the share of a point's trials that may fail before the point
// does: beyond it, the rest is a selection.
const mostFailed = 0.2

// Summarize sorts trials by point, in the order of Points.
func Summarize(plan metrics.Sweep, trials []metrics.Trial) []Point {
	var points []Point
	for _, values := range Points(plan.Knobs) {
		point := Point{Values: values}
		for _, trial := range trials {
			switch {
			case !slices.Equal(trial.Point, values):
			case trial.Verdict.Valid:
				point.Rates = append(point.Rates, trial.OpsPerS)
			default:
				point.Failed = append(point.Failed, trial)
			}
		}
		points = append(points, point)
	}
	return points
}

// Trials is how many trials of the point there are, failed ones included.
func (p Point) Trials() int { return len(p.Rates) + len(p.Failed) }

// OK reports whether the point may be shown as a result: it has a valid trial,
// and at most a fifth of its trials failed.
func (p Point) OK() bool {
	return len(p.Rates) > 0 && float64(len(p.Failed)) <= mostFailed*float64(p.Trials())
}

// Met reports whether the half-width of the median's 95 % interval is at most
// the given share of the median. Too few trials for an interval never meet it.
func (p Point) Met(until float64) bool {
	estimate, ok := p.Estimate()
	return ok && estimate.HalfWidth() <= until
}

// Estimate is the median of the valid trials with its 95 % interval, and false
// when they are too few for one.
func (p Point) Estimate() (metrics.Estimate, bool) { return metrics.MedianInterval(p.Rates, 0.95) }
