package metrics

import (
	"slices"
	"strings"

	"kvlab/metrics/stats"
)

// Points returns every combination of the knobs' values; the last knob changes
// fastest. Without a knob it is one point without values.
func Points(knobs []Knob) [][]string {
	points := [][]string{nil}
	for _, knob := range knobs {
		var longer [][]string
		for _, point := range points {
			for _, value := range knob.Values {
				longer = append(longer, append(slices.Clone(point), value))
			}
		}
		points = longer
	}
	return points
}

// PointName is a point for people: "nodes=4 batch=8192"; "" for a sweep without
// knobs.
func PointName(knobs []Knob, point []string) string {
	var words []string
	for i, knob := range knobs {
		words = append(words, knob.Name+"="+knob.Label(point[i]))
	}
	return strings.Join(words, " ")
}

// Point holds the trials of one point.
type Point struct {
	Values []string // of the knobs
	Valid  []Trial  // in their order
	Failed []Trial  // whose verdict is INVALID: never data
}

// Summarize sorts a plan's trials by point, in the order of Points.
func Summarize(plan Sweep, trials []Trial) []Point {
	var points []Point
	for _, values := range Points(plan.Knobs) {
		point := Point{Values: values}
		for _, trial := range trials {
			switch {
			case !slices.Equal(trial.Point, values):
			case trial.Verdict.Valid:
				point.Valid = append(point.Valid, trial)
			default:
				point.Failed = append(point.Failed, trial)
			}
		}
		points = append(points, point)
	}
	return points
}

// Rates are the valid trials' operations per second.
func (p Point) Rates() []float64 {
	var rates []float64
	for _, trial := range p.Valid {
		rates = append(rates, trial.OpsPerS)
	}
	return rates
}

// Trials is how many trials of the point there are, failed ones included.
func (p Point) Trials() int { return len(p.Valid) + len(p.Failed) }

// OK reports whether the point may be shown as a result: it has a valid trial, and none
// failed. Without a failed one the rest is a selection.
func (p Point) OK() bool { return len(p.Valid) > 0 && len(p.Failed) == 0 }

// Met reports whether the half-width of the median's 95 % interval is at most
// the given share of the median. Too few trials for an interval never meet it.
func (p Point) Met(until float64) bool {
	estimate, ok := p.Estimate()
	return ok && estimate.HalfWidth() <= until
}

// Estimate is the median of the valid trials with its 95 % interval, and false
// when they are too few for one.
func (p Point) Estimate() (stats.Estimate, bool) { return stats.MedianInterval(p.Rates(), 0.95) }

// Headroom is the median of the valid trials' headrooms; 0 where no ceiling was
// measured.
func (p Point) Headroom() float64 {
	var headrooms []float64
	for _, trial := range p.Valid {
		if trial.Headroom > 0 {
			headrooms = append(headrooms, trial.Headroom)
		}
	}
	if len(headrooms) == 0 {
		return 0
	}
	return stats.Median(headrooms)
}

// Bottleneck is what limits most of the valid trials, the first of several, and how
// many of them; "" where no trial says it.
func (p Point) Bottleneck() (limit BottleneckKind, trials int) {
	count := make(map[BottleneckKind]int)
	for _, trial := range p.Valid {
		count[trial.Bottleneck]++
	}
	for _, trial := range p.Valid {
		if n := count[trial.Bottleneck]; n > trials && trial.Bottleneck != "" {
			limit, trials = trial.Bottleneck, n
		}
	}
	return limit, trials
}
