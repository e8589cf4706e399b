package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// rateKnob is the knob that is not told apart by a line in that figure: it is
// what each line goes along.
const rateKnob = "rate"

// course is the open-loop trials of one combination of all other knobs, in the
// order of what they achieved.
type course struct {
	name   string
	trials []metrics.Trial
}

// courses are the valid open-loop trials with a latency, and the number of those
// without one: saturated, or with too few calls.
func courses(s *Sweep) (all []course, without int) {
	place := map[string]int{}
	along := slices.IndexFunc(s.Knobs, func(k metrics.Knob) bool { return k.Name == rateKnob })
	for _, trial := range s.Trials {
		switch {
		case !trial.Verdict.Valid || trial.OfferedOpsPerS == 0:
			continue
		case trial.OpP50 == nil || trial.OpP99 == nil:
			without++
			continue
		}
		name := fixedName(s.Knobs, trial.Point, along)
		i, seen := place[name]
		if !seen {
			i = len(all)
			place[name] = i
			all = append(all, course{name: name})
		}
		all[i].trials = append(all[i].trials, trial)
	}
	for _, c := range all {
		slices.SortFunc(c.trials, func(a, b metrics.Trial) int { return cmp.Compare(a.OpsPerS, b.OpsPerS) })
	}
	return all, without
}

// points are a latency of the trials, in milliseconds, against their throughput.
func (c course) points(of func(metrics.Trial) *float64) (points plotter.XYs) {
	for _, trial := range c.trials {
		points = append(points, plotter.XY{X: trial.OpsPerS, Y: max(1, *of(trial)) / microsPerMs})
	}
	return points
}

// readings are what each trial came to.
func (c course) readings() (all []Reading) {
	for _, trial := range c.trials {
		rows := []string{"p50: " + milliseconds(*trial.OpP50) + " ms", "p99: " + milliseconds(*trial.OpP99) + " ms"}
		if c.name != "" {
			rows = append([]string{label(c.name, 60)}, rows...)
		}
		all = append(all, Reading{At: trial.OpsPerS, Head: format.Count(trial.OpsPerS) + " ops/s", Rows: rows})
	}
	return all
}

// latencyThroughputFigure shows what latency each open loop had at what
// throughput, a dot for every trial: p99 in full lines, p50 in broken ones. Both
// count from the moment when an operation was due.
func latencyThroughputFigure(s *Sweep) Figure {
	f := Figure{Name: "latency_throughput", Title: "Latency by throughput, open loop", Subtitle: describeSweep(s), Alarm: failureWords(s)}
	p := newPanel("operations per second, achieved", "latency from due to reply (ms)")
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 1, 10
	all, without := courses(s)
	group := Group{}
	most, low, high := 0.0, math.Inf(1), 0.0
	for i, c := range all {
		full := lineStyle(i, len(all))
		broken := full
		broken.Dashes, broken.Width = dashes[2], full.Width/2
		p99 := c.points(func(t metrics.Trial) *float64 { return t.OpP99 })
		p50 := c.points(func(t metrics.Trial) *float64 { return t.OpP50 })
		for j := range p99 {
			most, low, high = max(most, p99[j].X), min(low, p50[j].Y), max(high, p99[j].Y)
		}
		f.Readings = append(f.Readings, c.readings()...)
		polyline(p, full, p99)
		polyline(p, broken, p50)
		p.Add(&plotter.Scatter{XYs: p99, GlyphStyle: middle(full)}, &plotter.Scatter{XYs: p50, GlyphStyle: dot(full)})
		name := ""
		if c.name != "" {
			name = ", " + c.name
		}
		group.Entries = append(group.Entries, Entry{Name: "p99" + name, Line: full, Glyph: middle(full)}, Entry{Name: "p50" + name, Line: broken, Glyph: dot(full)})
	}
	if without > 0 {
		group.Entries = append(group.Entries, Entry{Name: fmt.Sprintf("%d more without percentiles: saturated, or too few calls", without)})
	}
	slices.SortFunc(f.Readings, func(a, b Reading) int { return cmp.Compare(a.At, b.At) })
	f.Legend = []Group{group}
	if len(all) == 0 {
		p.Add(notice("no open loop has a latency: all were saturated, or had too few calls"))
	} else {
		p.X.Max = roundTop(most, 6)
		p.Y.Min, p.Y.Max = logRange(low, high)
	}
	p.X.Tick.Marker = ticks{6, format.Count}
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = logTicks{shortest}
	f.Panels = []*plot.Plot{p}
	return f
}
