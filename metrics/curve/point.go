// Package curve reads latency against throughput off the trials of open loops: what
// each offered rate achieved, where the knee is, and up to which rate an objective
// holds.
package curve

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

const (
	Knob = "rate" // the knob of a curve
	Peak = "peak" // the knob's value for closed loops, whose throughput the rates are shares of
)

// Quantiles are the names of those that a curve's table and figure have.
var Quantiles = []string{"p50", "p95", "p99", "p99.9"}

// Point is the trials that were offered one rate, at least one of them valid.
type Point struct {
	metrics.Point
	Offered  float64 // operations per second, the median of the valid trials
	Achieved float64 // likewise
}

// Curve is latency against throughput.
type Curve struct {
	Points    []Point   // in the order of their offered rates
	Peak      float64   // throughput of the closed loops, the median of their valid trials; 0 unknown
	Objective Objective // none if it is zero
}

// Is reports whether a plan is one of --curve or --slo.
func Is(plan metrics.Sweep) bool {
	return len(plan.Knobs) == 1 && plan.Knobs[0].Name == Knob && slices.Contains(plan.Knobs[0].Values, Peak)
}

// Of returns the curve of points of a sweep that differ in nothing but the rate. A point
// that may not be shown as a result is not in it.
func Of(plan metrics.Sweep, all []metrics.Point) (c Curve) {
	c.Objective, _ = ParseObjective(plan.SLO) // it was parsed before it was written
	for _, point := range all {
		p := Point{Point: point, Achieved: stats.Median(point.Rates())}
		p.Offered = stats.Median(p.values(func(t metrics.Trial) float64 { return t.OfferedOpsPerS }))
		if p.Offered > 0 && p.OK() {
			c.Points = append(c.Points, p)
		} else if p.Offered == 0 && slices.Contains(p.Values, Peak) && p.OK() {
			c.Peak = p.Achieved
		}
	}
	slices.SortStableFunc(c.Points, func(a, b Point) int { return cmp.Compare(a.Offered, b.Offered) })
	return c
}

// values returns a figure of each valid trial.
func (p Point) values(of func(metrics.Trial) float64) (values []float64) {
	for _, trial := range p.Valid {
		values = append(values, of(trial))
	}
	return values
}

// Latencies returns a quantile of the operations' latency of each valid trial, in
// microseconds: +Inf of a saturated trial, NaN of one with too few calls for it.
func (p Point) Latencies(quantile string) []float64 {
	i := slices.Index(metrics.QuantileNames[:], quantile)
	return p.values(func(t metrics.Trial) float64 {
		return latency(t, func(q metrics.Quantiles) *float64 { return q.All()[i] })
	})
}

// Latency returns the median of Latencies. It is NaN if a trial has too few calls.
func (p Point) Latency(quantile string) float64 { return median(p.Latencies(quantile)) }

// means returns the trials' mean latencies of the operations in microseconds.
func (p Point) means() []float64 {
	return p.values(func(t metrics.Trial) float64 {
		return latency(t, func(q metrics.Quantiles) *float64 { return &q.Mean })
	})
}

func (p Point) mean() float64 { return median(p.means()) }

// late returns the p99 of the generator's lateness in microseconds, the median of the trials.
func (p Point) late() float64 {
	return median(p.values(func(t metrics.Trial) float64 {
		if late := t.Run.Latency[metrics.Lateness].P99; late != nil {
			return *late
		}
		return math.NaN()
	}))
}

// Backlog reports whether most trials answered clearly more than was due: the window has
// what the warm-up left behind, so its latencies show no steady load.
func (p Point) Backlog() bool {
	ahead := 0
	for _, t := range p.Valid {
		if t.Run.Offered.Ahead(t.Run.Ops) {
			ahead++
		}
	}
	return 2*ahead > len(p.Valid)
}

// Saturated reports whether the offered rate was not achieved: latencies grow with the
// length of the run.
func (p Point) Saturated() bool { return math.IsInf(p.mean(), 1) }

// latency returns a figure of a trial's latency of operations; +Inf if it is saturated, NaN
// without one.
func latency(t metrics.Trial, of func(metrics.Quantiles) *float64) float64 {
	q := t.Run.Latency[metrics.OpLatency]
	value := of(q)
	switch {
	case t.Run.Offered.Saturated(t.Run.Ops) != "":
		return math.Inf(1)
	case q.Count == 0 || value == nil:
		return math.NaN()
	}
	return *value
}

// median returns NaN if one of the values is.
func median(values []float64) float64 {
	if slices.ContainsFunc(values, math.IsNaN) {
		return math.NaN()
	}
	return stats.Median(values)
}

// Knee returns the index of the point with the highest power, the throughput over the
// mean latency; -1 if that is the lowest or the highest rate, beyond which the knee may
// lie. Below it, throughput grows faster than latency; above it, latency grows faster
// (Kleinrock, Power and Deterministic Rules of Thumb for Probabilistic Problems in Computer
// Communications, ICC 1979; Jain, The Art of Computer Systems Performance Analysis, 1991,
// section 3.3). The knee of an M/M/1 queue is half of its capacity. The place depends on
// neither the axes of a figure nor the range of the rates, as it does in methods that look
// for the sharpest bend.
//
// There is none where the latency does not rise with the rate (see rises).
func (c Curve) Knee() int {
	if most, first, last := c.powers(); first < most && most < last && c.rises() == "" {
		return most
	}
	return -1
}

// rises returns "" if the mean latency rises with the rate: of two points whose intervals
// have nothing in common, none has a lower latency at a higher rate, and at least two have a
// higher one. Otherwise it says what it does. Single trials have no interval, and rise by
// their latencies alone.
func (c Curve) rises() string {
	risen := false
	means := make([]stats.Estimate, len(c.Points))
	for i, p := range c.Points {
		means[i] = medianRange(p.means())
		for j, lower := range c.Points[:i] {
			risen = risen || means[i].Low > means[j].High || p.Saturated() && !lower.Saturated()
			if means[i].High < means[j].Low && min(len(p.Valid), len(lower.Valid)) > 1 {
				return fmt.Sprintf("falls from %s to %s ms between %s and %s ops/s", format.Milliseconds(means[j].Median), format.Milliseconds(means[i].Median), format.Count(lower.Offered), format.Count(p.Offered))
			}
		}
	}
	if !risen {
		return "does not rise"
	}
	return ""
}

// medianRange returns the median of values with its 95 % interval, or where they are too few for
// one with the range of them all, which covers the true median with 1 - 2^(1-n) (see
// stats.MedianInterval).
func medianRange(values []float64) stats.Estimate {
	e, ok := stats.MedianInterval(values, 0.95)
	if !ok && len(values) > 0 {
		e.Low, e.High, e.Coverage = slices.Min(values), slices.Max(values), 1-math.Exp2(float64(1-len(values)))
	}
	return e
}

// powers returns the indices of the point with the highest power, and of the first and the
// last whose power is known; all are -1 if none has one above 0. That of a saturated point
// is 0.
func (c Curve) powers() (most, first, last int) {
	most, first, last = -1, -1, -1
	highest := 0.0
	for i, p := range c.Points {
		power := p.Achieved / p.mean()
		if math.IsNaN(power) || p.Backlog() {
			continue
		}
		if last = i; first < 0 {
			first = i
		}
		if power > highest {
			most, highest = i, power
		}
	}
	if most < 0 {
		return -1, -1, -1
	}
	return most, first, last
}
