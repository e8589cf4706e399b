package folder

import (
	"maps"
	"math"
	"slices"
	"time"

	"gonum.org/v1/plot/plotter"

	"kvlab/metrics"
)

// Series is one line of a figure over time. X is seconds after the window's start,
// at the middle of a sample; Y is in the quantity's unit.
type Series struct {
	Node   string
	Role   metrics.Role
	Points plotter.XYs
}

// Span is a stretch of time in seconds after the window's start.
type Span struct{ Start, End float64 }

// Series returns a quantity over time: operations of each client, and what each node
// used. A sample without the quantity has no point.
func (r *Run) Series(q Quantity) []Series {
	var all []Series
	for _, log := range r.Logs {
		samples := log.Usages
		if q == OpsPerS {
			if log.Role != metrics.Client {
				continue
			}
			samples = log.Intervals
		}
		one := Series{Node: log.Node, Role: log.Role}
		for _, s := range samples {
			if y := s.Values[q]; !math.IsNaN(y) {
				one.Points = append(one.Points, plotter.XY{X: r.seconds(s.Time) - s.LengthS/2, Y: y})
			}
		}
		all = append(all, one)
	}
	return all
}

// TotalThroughput returns the operations per second of all clients together,
// in whole seconds before and after the window's start; of a long run, in steps of
// several. Clients report at different moments, so each interval's operations are
// spread evenly over the steps that it touches; the sum of the points times the
// step is exactly the sum of all operations.
func (r *Run) TotalThroughput() plotter.XYs {
	step := r.Step()
	ops := map[int]float64{} // by step
	for _, i := range r.clientIntervals() {
		end := r.seconds(i.Time) / step
		start := end - i.LengthS/step
		for s := int(math.Floor(start)); float64(s) < end; s++ {
			share := min(end, float64(s+1)) - max(start, float64(s))
			ops[s] += i.Values[OpsPerS] * share
		}
	}
	var total plotter.XYs
	for _, s := range slices.Sorted(maps.Keys(ops)) {
		total = append(total, plotter.XY{X: (float64(s) + 0.5) * step, Y: ops[s]})
	}
	return total
}

// clientIntervals returns the intervals of all clients.
func (r *Run) clientIntervals() (all []Sample) {
	for _, log := range r.Logs {
		if log.Role == metrics.Client {
			all = append(all, log.Intervals...)
		}
	}
	return all
}

// Step is the number of whole seconds of which no log has more than maxPoints.
func (r *Run) Step() float64 {
	longest := 0.0
	for _, log := range r.Logs {
		if n := len(log.Intervals); n > 0 {
			longest = max(longest, log.Intervals[n-1].Time.Sub(log.Intervals[0].Time).Seconds())
		}
	}
	return max(1, math.Ceil(longest/maxPoints))
}

// Phases returns when the clients were in each phase, from the first one's
// entry to the last one's exit. Other phases end where the window begins, and
// begin where it ends.
func (r *Run) Phases() map[metrics.Phase]Span {
	spans := map[metrics.Phase]Span{}
	for _, i := range r.clientIntervals() {
		end := r.seconds(i.Time)
		span, seen := spans[i.Phase]
		if !seen {
			span = Span{math.Inf(1), math.Inf(-1)}
		}
		spans[i.Phase] = Span{min(span.Start, end-i.LengthS), max(span.End, end)}
	}
	if r.WindowStart.IsZero() || r.WindowS <= 0 {
		return spans
	}
	for phase, span := range spans {
		switch phase {
		case metrics.Idle, metrics.Load, metrics.WarmUp:
			spans[phase] = Span{span.Start, min(span.End, 0)}
		case metrics.Drain, metrics.Done:
			spans[phase] = Span{max(span.Start, r.WindowS), span.End}
		}
	}
	spans[metrics.Window] = Span{0, r.WindowS}
	return spans
}

// WorkSpan is the time from the first to the last interval in which a client did
// an operation, and the window; one second when there was neither.
func (r *Run) WorkSpan() (start, end float64) {
	start, end = math.Inf(1), math.Inf(-1)
	if window, ok := r.Phases()[metrics.Window]; ok {
		start, end = window.Start, window.End
	}
	for _, i := range r.clientIntervals() {
		if at := r.seconds(i.Time); i.Values[OpsPerS] > 0 {
			start, end = min(start, at-i.LengthS), max(end, at)
		}
	}
	if start >= end {
		return 0, 1
	}
	return start, end
}

// seconds returns when, in seconds after the origin.
func (r *Run) seconds(when time.Time) float64 { return when.Sub(r.origin()).Seconds() }

// origin is the moment that figures call second 0: the window's start, or the
// first record of a run that never had a window.
func (r *Run) origin() time.Time {
	if !r.WindowStart.IsZero() {
		return r.WindowStart
	}
	first := r.Started
	for _, log := range r.Logs {
		if len(log.Intervals) > 0 && (first.IsZero() || log.Intervals[0].Time.Before(first)) {
			first = log.Intervals[0].Time
		}
	}
	return first
}
