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
// at the middle of a measurement; Y is in the figure's unit.
type Series struct {
	Node   string
	Role   metrics.Role
	Points plotter.XYs
}

// Span is a stretch of time in seconds after the window's start.
type Span struct{ Start, End float64 }

// middle is the place in a figure of a value that covers the lengthS seconds before
// end.
func (r *Run) middle(end time.Time, lengthS float64) float64 {
	return r.seconds(end) - lengthS/2
}

// Throughput returns each client's operations per second over time.
func Throughput(r *Run) []Series {
	var all []Series
	for _, log := range r.NodesOf(metrics.Client) {
		one := Series{Node: log.Node, Role: log.Role}
		for _, i := range log.Intervals {
			one.Points = append(one.Points, plotter.XY{X: r.middle(i.Time, i.Value.LengthS), Y: i.Value.OpsPerS()})
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
func TotalThroughput(r *Run) plotter.XYs {
	clients := r.NodesOf(metrics.Client)
	step := r.Step()
	ops := map[int]float64{} // by step
	for _, log := range clients {
		for _, i := range log.Intervals {
			end := r.seconds(i.Time) / step
			start := end - i.Value.LengthS/step
			for s := int(math.Floor(start)); float64(s) < end; s++ {
				share := min(end, float64(s+1)) - max(start, float64(s))
				ops[s] += i.Value.OpsPerS() * share
			}
		}
	}
	var total plotter.XYs
	for _, s := range slices.Sorted(maps.Keys(ops)) {
		total = append(total, plotter.XY{X: (float64(s) + 0.5) * step, Y: ops[s]})
	}
	return total
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

// CPU returns each node's processor usage, 0 to 100 % of all its cores.
func CPU(r *Run) []Series {
	return Usages(r, func(u metrics.Usage) (float64, bool) { return u.CPUPercent, true })
}

// Memory returns each machine's used memory in GiB (2^30 bytes).
func Memory(r *Run) []Series {
	return Usages(r, func(u metrics.Usage) (float64, bool) { return float64(u.MemoryUsedBytes) / (1 << 30), true })
}

// Received returns the traffic that each node's data interface received, in Gb/s
// (10^9 bits per second). A sample without that interface has no point.
func Received(r *Run) []Series {
	return Usages(r, func(u metrics.Usage) (float64, bool) {
		data, ok := u.Data()
		return data.RxBytesPerS * 8 / 1e9, ok
	})
}

// Sent returns the traffic that each node's data interface sent, as Received does.
func Sent(r *Run) []Series {
	return Usages(r, func(u metrics.Usage) (float64, bool) {
		data, ok := u.Data()
		return data.TxBytesPerS * 8 / 1e9, ok
	})
}

// Usages returns one series per node, of the values that a function reads from a
// usage.
func Usages(r *Run, value func(metrics.Usage) (float64, bool)) []Series {
	var all []Series
	for _, log := range r.Logs {
		one := Series{Node: log.Node, Role: log.Role}
		for _, u := range log.Usages {
			if y, ok := value(u.Value); ok {
				one.Points = append(one.Points, plotter.XY{X: r.middle(u.Time, u.Value.LengthS), Y: y})
			}
		}
		all = append(all, one)
	}
	return all
}

// Phases returns when the clients were in each phase, from the first one's
// entry to the last one's exit. Other phases end where the window begins, and
// begin where it ends.
func (r *Run) Phases() map[metrics.Phase]Span {
	spans := map[metrics.Phase]Span{}
	for _, log := range r.NodesOf(metrics.Client) {
		for _, i := range log.Intervals {
			end := r.seconds(i.Time)
			span, seen := spans[i.Value.Phase]
			if !seen {
				span = Span{math.Inf(1), math.Inf(-1)}
			}
			spans[i.Value.Phase] = Span{min(span.Start, end-i.Value.LengthS), max(span.End, end)}
		}
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
	for _, log := range r.NodesOf(metrics.Client) {
		for _, i := range log.Intervals {
			if at := r.seconds(i.Time); i.Value.Counts.Ops() > 0 {
				start, end = min(start, at-i.Value.LengthS), max(end, at)
			}
		}
	}
	if start >= end {
		return 0, 1
	}
	return start, end
}
