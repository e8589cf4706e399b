package curve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// Objective is a service level objective: a quantile of the operations' latency, from
// the moment when they are due, is at most Limit. The zero Objective is none.
type Objective struct {
	Quantile string // one of metrics.QuantileNames
	Limit    time.Duration
}

// ParseObjective reads "p99=5ms", and "p99<5ms" too.
func ParseObjective(text string) (o Objective, err error) {
	name, limit, _ := strings.Cut(strings.Replace(text, "<", "=", 1), "=")
	o = Objective{Quantile: name}
	if o.Limit, err = time.ParseDuration(limit); err != nil || o.Limit <= 0 || !slices.Contains(metrics.QuantileNames[:], name) {
		last := len(metrics.QuantileNames) - 1
		return Objective{}, fmt.Errorf("want a quantile and a time with its unit, as in p99=5ms; quantiles are %s and %s",
			strings.Join(metrics.QuantileNames[:last], ", "), metrics.QuantileNames[last])
	}
	return o, nil
}

// String returns what ParseObjective reads; "" of none.
func (o Objective) String() string {
	if o == (Objective{}) {
		return ""
	}
	return fmt.Sprintf("%s=%v", o.Quantile, o.Limit)
}

// micros returns the limit in microseconds.
func (o Objective) micros() float64 { return float64(o.Limit) / float64(time.Microsecond) }

// Keeps reports whether the median of a point's trials keeps the objective. The error
// says that a trial has too few calls.
func (o Objective) Keeps(p Point) (bool, error) {
	latency := p.Latency(o.Quantile)
	if math.IsNaN(latency) {
		few := slices.DeleteFunc(p.Latencies(o.Quantile), func(us float64) bool { return !math.IsNaN(us) })
		if len(few) < len(p.Valid) {
			return false, fmt.Errorf("--slo %s: noise: at %s ops/s, %d of the %s had calls enough for %s", o, format.Count(p.Offered), len(p.Valid)-len(few), format.Plural(len(p.Valid), "trial"), o.Quantile)
		}
		return false, fmt.Errorf("--slo %s: the calls at %s ops/s are too few for %s: want a longer --secs", o, format.Count(p.Offered), o.Quantile)
	}
	if p.Backlog() {
		return false, fmt.Errorf("--slo %s: at %s ops/s the window had a backlog of the warm-up: %s ops/s were answered; want a longer warm-up", o, format.Count(p.Offered), format.Count(p.Achieved))
	}
	return latency <= o.micros(), nil
}

// Rate is the highest offered rate, in operations per second, at which an objective
// holds: the one at which the median trial's quantile crosses the limit.
type Rate struct {
	OpsPerS   float64 // 0 unless both ends are known
	Low, High float64 // the ends of its 95 % interval; 0 unknown
}

// Rate returns the rate up to which the curve's objective holds. Only points with enough
// trials for a 95 % interval of their median count, which needs 6.
//
// Two of them bracket the rate: the highest whose interval is within the limit, and the
// lowest above it whose interval is beyond. The first trials of all points in the bracket
// give one estimate of the rate, the second trials another, and so on. The result is their
// median with its interval (stats.MedianInterval), cut off at the bracket. If a trial is
// saturated, the bracket is the interval, and the rate is between the first two of its points
// whose medians lie on both sides of the limit: that needs no law but that latency does not
// fall where the rate rises.
func (c Curve) Rate() (r Rate) {
	o := c.Objective
	points := slices.DeleteFunc(slices.Clone(c.Points), func(p Point) bool { _, ok := o.interval(p); return !ok })
	low, high := -1, len(points)
	for i, p := range points {
		if e, _ := o.interval(p); e.High <= o.micros() {
			low, high, r = i, len(points), Rate{Low: p.Offered}
		} else if r.High == 0 && e.Low > o.micros() {
			high, r.High = i, p.Offered
		}
	}
	if low < 0 || high == len(points) {
		return r
	}
	for i := high; i > low; i-- {
		if points[i].Latency(o.Quantile) > o.micros() {
			r.OpsPerS = math.Sqrt(points[i-1].Offered * points[i].Offered)
		}
	}
	var crossings []float64
	for block, enough := 0, true; enough; block++ {
		crossing, ok := o.crossing(points[low:high+1], block)
		if enough = ok; ok {
			crossings = append(crossings, min(max(crossing, r.Low), r.High))
		}
	}
	if e, ok := stats.MedianInterval(crossings, 0.95); ok {
		return Rate{e.Median, e.Low, e.High}
	}
	return r
}

// crossing returns the rate at which the quantile is the limit, by one trial of each point. The
// reciprocal of the latency is taken for linear in the rate, as it is for every quantile of
// an M/M/1 queue (Kleinrock, Queueing Systems I, 1975, section 3.2) and for other queues
// under heavy traffic (Kingman, The Single Server Queue in Heavy Traffic, Mathematical
// Proceedings of the Cambridge Philosophical Society 57, 1961). Its slope is Theil and
// Sen's. It is false if a point has no such trial, a trial is saturated, or the latency does
// not rise.
func (o Objective) crossing(points []Point, trial int) (float64, bool) {
	var rates, speeds []float64 // a speed is the reciprocal of a latency
	for _, p := range points {
		us := p.Latencies(o.Quantile)
		if trial >= len(us) || math.IsInf(us[trial], 1) {
			return 0, false
		}
		rates, speeds = append(rates, p.Offered), append(speeds, 1/max(1, us[trial]))
	}
	slope := stats.TheilSen(rates, speeds)
	for i := range rates {
		rates[i] += (1/o.micros() - speeds[i]) / slope
	}
	return stats.Median(rates), slope < 0
}

// interval returns the estimate of a point's quantile, and false without an interval.
func (o Objective) interval(p Point) (stats.Estimate, bool) {
	values := p.Latencies(o.Quantile)
	e, ok := stats.MedianInterval(values, 0.95)
	return e, ok && !slices.ContainsFunc(values, math.IsNaN)
}

// noisiest returns the point with an interval on both sides of the limit that is the widest;
// false without one.
func (c Curve) noisiest() (widest Point, ok bool) {
	most := 0.0
	for _, p := range c.Points {
		e, bounded := c.Objective.interval(p)
		if bounded && e.Low <= c.Objective.micros() && e.High > c.Objective.micros() && e.High/e.Low > most {
			widest, most, ok = p, e.High/e.Low, true
		}
	}
	return widest, ok
}

// words say up to which rate the objective holds.
func (c Curve) words() string {
	r := c.Rate()
	if r.OpsPerS > 0 {
		return fmt.Sprintf("kept up to %s ops/s, 95 %% interval %s to %s", format.Count(r.OpsPerS), format.Count(r.Low), format.Count(r.High))
	}
	var kept, broken float64 // by the medians: the highest rate, and the lowest
	for _, p := range c.Points {
		if keeps, err := c.Objective.Keeps(p); err == nil && keeps {
			kept = p.Offered
		} else if err == nil && broken == 0 {
			broken = p.Offered
		}
	}
	switch {
	case kept == 0 && broken == 0:
		return "no rate has calls enough"
	case broken == 0:
		return fmt.Sprintf("kept at every rate up to %s ops/s", format.Count(kept))
	case kept == 0:
		return fmt.Sprintf("broken at every rate down to %s ops/s", format.Count(broken))
	}
	between := fmt.Sprintf("between %s and %s ops/s", format.Count(kept), format.Count(broken))
	if widest, ok := c.noisiest(); ok {
		return fmt.Sprintf("%s; noise hides the rate: at %s ops/s the trials' %s is from %s to %s ms", between, format.Count(widest.Offered), c.Objective.Quantile,
			milliseconds(slices.Min(widest.Latencies(c.Objective.Quantile))), milliseconds(slices.Max(widest.Latencies(c.Objective.Quantile))))
	}
	return between + " (no interval: it needs 6 trials a rate)"
}
