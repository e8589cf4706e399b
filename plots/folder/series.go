package folder

import (
	"fmt"
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

// Series returns a quantity over time: operations of each client, or server, and what each node
// used. A sample without the quantity has no point, nor has the part-second at the end of
// a phase: its rate says little.
func (r *Run) Series(q Quantity) []Series {
	var all []Series
	for _, log := range r.Logs {
		samples := log.Usages
		if q == OpsPerS {
			if log.Role != r.counting() {
				continue
			}
			samples = log.Intervals
		}
		one := Series{Node: log.Node, Role: log.Role}
		for _, s := range samples {
			if y := s.Values[q]; !math.IsNaN(y) && !s.isRest() {
				one.Points = append(one.Points, plotter.XY{X: r.seconds(s.Time) - s.LengthS/2, Y: y})
			}
		}
		all = append(all, one)
	}
	return all
}

// counting returns the role whose seconds say how many operations were done: a team's own client
// tells none, and of a team's system nobody does.
func (r *Run) counting() metrics.Role {
	switch {
	case r.IsClaimed():
		return ""
	case r.HostsClient():
		return metrics.Server
	}
	return metrics.Client
}

// isRest reports whether the sample is the rest of less than half a second that the end
// of a phase has cut off.
func (s Sample) isRest() bool { return s.LengthS < 0.5 }

// TotalThroughput returns the operations per second of all clients together,
// in whole seconds before and after the window's start; of a long run, in steps of several.
// Clients report at different moments, so each interval's operations are spread evenly over
// the steps that it touches. The sum of the points times the step is exactly the sum of all
// operations. The exception is a last step that no client worked to its end: it has no point.
func (r *Run) TotalThroughput() plotter.XYs {
	step := r.Step()
	ops, most := map[int]float64{}, map[int]float64{} // by step; most: the longest share of it that a client worked
	for _, log := range r.Logs {
		if log.Role != metrics.Client {
			continue
		}
		worked := map[int]float64{}
		for _, i := range log.Intervals {
			end := r.seconds(i.Time) / step
			start := end - i.LengthS/step
			for s := int(math.Floor(start)); float64(s) < end; s++ {
				share := min(end, float64(s+1)) - max(start, float64(s))
				ops[s] += i.Values[OpsPerS] * share
				worked[s] += share
				most[s] = max(most[s], worked[s])
			}
		}
	}
	steps := slices.Sorted(maps.Keys(ops))
	const whole = 0.9 // an interval ends some milliseconds late
	if last := len(steps) - 1; last > 0 && most[steps[last]] < whole {
		steps = steps[:last]
	}
	var total plotter.XYs
	for _, s := range steps {
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

// Step returns the least number of whole seconds for which every log has at most maxPoints steps.
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
// begin where it ends. A stretch of time is its start and its end, in seconds after the
// window's start.
func (r *Run) Phases() map[metrics.Phase][2]float64 {
	spans := map[metrics.Phase][2]float64{}
	for _, i := range r.clientIntervals() {
		end := r.seconds(i.Time)
		span, seen := spans[i.Phase]
		if !seen {
			span = [2]float64{math.Inf(1), math.Inf(-1)}
		}
		spans[i.Phase] = [2]float64{min(span[0], end-i.LengthS), max(span[1], end)}
	}
	if r.WindowStart.IsZero() || r.WindowS <= 0 {
		return spans
	}
	for phase, span := range spans {
		switch phase {
		case metrics.Idle, metrics.Load, metrics.WarmUp:
			spans[phase] = [2]float64{span[0], min(span[1], 0)}
		case metrics.Drain, metrics.Done:
			spans[phase] = [2]float64{max(span[0], r.WindowS), span[1]}
		}
	}
	spans[metrics.Window] = [2]float64{0, r.WindowS}
	return spans
}

// WorkSpan returns the time from the first to the last interval in which a client did
// an operation, and the window; one second when there was neither.
func (r *Run) WorkSpan() (start, end float64) {
	start, end = math.Inf(1), math.Inf(-1)
	if window, ok := r.Phases()[metrics.Window]; ok {
		start, end = window[0], window[1]
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

// origin returns the moment that figures call second 0: the window's start, or the
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

// Quantity is what a node measures over time.
type Quantity int

// The quantities of a sample. A sample of an interval has only the first; one of a
// usage has the others.
const (
	OpsPerS    Quantity = iota
	CPU                 // per cent of all cores
	Memory              // in use on the machine, GiB
	Received            // by the data interface, Gb/s
	Sent                // by the data interface, Gb/s
	RSS                 // of the node's process, MB
	Goroutines          // of the node's process
	OpenFiles           // of the node's process
	ProcessCPU          // of the node's process, per cent of one core
	quantities
)

// Sample is what a node measured in the LengthS seconds before Time. A value that it
// did not measure is NaN.
type Sample struct {
	Time    time.Time
	LengthS float64
	Phase   metrics.Phase
	Values  [quantities]float64
}

// ofInterval makes a sample of an interval.
func ofInterval(at time.Time, i metrics.Interval) Sample {
	return Sample{at, i.LengthS, i.Phase, [quantities]float64{OpsPerS: i.OpsPerS()}}
}

// ofUsage makes a sample of a usage. Without the data interface, the traffic is NaN.
func ofUsage(at time.Time, u metrics.Usage) Sample {
	data, ok := u.Data()
	if !ok {
		data.RxBytesPerS, data.TxBytesPerS = math.NaN(), math.NaN()
	}
	return Sample{at, u.LengthS, u.Phase, [quantities]float64{
		CPU: u.CPUPercent, Memory: float64(u.MemoryUsedBytes) / (1 << 30),
		Received: data.RxBytesPerS * 8 / 1e9, Sent: data.TxBytesPerS * 8 / 1e9,
		RSS: float64(u.Process.RSSBytes) / 1e6, Goroutines: float64(u.Process.Goroutines), OpenFiles: float64(u.Process.OpenFiles),
		ProcessCPU: u.Process.CPUPercent,
	}}
}

// maxPoints is how many samples of a kind a log keeps of its node: more than a figure
// has room for, and little memory for a run of any length.
const maxPoints = 1024

// track is a node's samples of one kind in the order of time. Beyond maxPoints, each
// group of stride samples of one phase is joined into one.
type track struct {
	samples   []Sample
	n, stride int // samples added, and those of a group
}

// add adds the next sample. It refuses a length that no measurement has.
func (t *track) add(s Sample) error {
	const hour = 3600
	if s.LengthS < 0 || s.LengthS > hour {
		return fmt.Errorf("length_s is %g: want 0 to %d", s.LengthS, hour)
	}
	t.stride = max(1, t.stride)
	if t.n%t.stride == 0 || !t.join(s) {
		t.samples = append(t.samples, s)
	}
	t.n++
	if len(t.samples) <= maxPoints {
		return nil
	}
	all := t.samples
	t.samples = all[:0]
	for i, s := range all {
		if i%2 == 0 || !t.join(s) {
			t.samples = append(t.samples, s)
		}
	}
	t.stride *= 2
	return nil
}

// join joins a sample with the last one: the values become means over the time. It
// reports false for samples of two phases.
func (t *track) join(s Sample) bool {
	last := &t.samples[len(t.samples)-1]
	if last.Phase != s.Phase {
		return false
	}
	share := 0.5
	if both := last.LengthS + s.LengthS; both > 0 {
		share = s.LengthS / both
	}
	for q, value := range s.Values {
		last.Values[q] += share * (value - last.Values[q])
	}
	last.Time, last.LengthS = s.Time, last.LengthS+s.LengthS
	return true
}
