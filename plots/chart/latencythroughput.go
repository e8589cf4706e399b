package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// rateCurve is the open-loop trials of one combination of all knobs but the rate, in
// the order of their throughput.
type rateCurve struct {
	name   string
	trials []metrics.Trial
}

// curvesOf returns the valid open-loop trials with a latency, and the number of
// those without one: saturated, or with too few calls.
func curvesOf(s *folder.Sweep) (all []rateCurve, without int) {
	along := slices.IndexFunc(s.Knobs, func(k metrics.Knob) bool { return k.Name == "rate" })
	for _, group := range groupsOf(s, along) {
		curve := rateCurve{name: group.name}
		for _, point := range group.points {
			for _, trial := range point.Valid {
				switch {
				case trial.OfferedOpsPerS == 0:
				case trial.OpP50 == nil || trial.OpP99 == nil:
					without++
				default:
					curve.trials = append(curve.trials, trial)
				}
			}
		}
		if len(curve.trials) > 0 {
			slices.SortFunc(curve.trials, func(a, b metrics.Trial) int { return cmp.Compare(a.OpsPerS, b.OpsPerS) })
			all = append(all, curve)
		}
	}
	return all, without
}

// points are a latency of the trials, in milliseconds, against their throughput.
func (c rateCurve) points(of func(metrics.Trial) *float64) (points plotter.XYs) {
	for _, trial := range c.trials {
		points = append(points, plotter.XY{X: trial.OpsPerS, Y: max(1, *of(trial)) / 1000})
	}
	return points
}

// latencyThroughputFigure shows what latency each open loop had at what
// throughput, a dot for every trial: p99 in full lines, p50 in broken ones. Both
// count from the moment when an operation was due.
func latencyThroughputFigure(s *folder.Sweep) figure.Figure {
	f := sweepFigure(s, "latency_throughput", "Latency by throughput, open loop")
	p := figure.NewPanel("operations per second, achieved", "latency from due to reply (ms)")
	p.Place = func(x float64) string { return format.Count(x) + " ops/s" }
	curves, without := curvesOf(s)
	group := figure.Group{}
	most, low, high := 0.0, math.Inf(1), 0.0
	for i, c := range curves {
		full := figure.Mixed(i, len(curves))
		broken := figure.Stroke(full.Color, full.Width.Points()/2, 2, 2.5)
		p99 := c.points(func(t metrics.Trial) *float64 { return t.OpP99 })
		p50 := c.points(func(t metrics.Trial) *float64 { return t.OpP50 })
		for j := range p99 {
			most, low, high = max(most, p99[j].X), min(low, p50[j].Y), max(high, p99[j].Y)
		}
		p.Line(full, p99)
		p.Line(broken, p50)
		p.Glyphs(figure.Box(full), p99)
		p.Glyphs(figure.Dot(full), p50)
		p.Tooltip(format.Label(c.name, 60), p99, func(i int) string {
			return fmt.Sprintf("p50 %s ms, p99 %s ms", format.Milliseconds(*c.trials[i].OpP50), format.Milliseconds(*c.trials[i].OpP99))
		})
		name := ""
		if c.name != "" {
			name = ", " + c.name
		}
		group.Entries = append(group.Entries, figure.Entry{Name: "p99" + name, Line: full, Glyph: figure.Box(full)}, figure.Entry{Name: "p50" + name, Line: broken, Glyph: figure.Dot(full)})
	}
	if without > 0 {
		group.Entries = append(group.Entries, figure.Entry{Name: fmt.Sprintf("%d more without percentiles: saturated, or too few calls", without)})
	}
	f.Legend = []figure.Group{group}
	if len(curves) == 0 {
		low, high = 1, 10
		p.Notice("no open loop has a latency: all were saturated, or had too few calls")
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, figure.Top(most), figure.Ticks(format.Count)
	p.LogY(low, high, format.Shortest)
	f.Panels = []*figure.Panel{p}
	return f
}
