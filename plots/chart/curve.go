package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// Curve is a curve of latency against throughput with a name, "" for the only one.
type Curve struct {
	Name string
	curve.Curve
}

// CurvesOf returns the curves of a sweep: one for each combination of all knobs but the
// rate that has open loops.
func CurvesOf(s *folder.Sweep) (all []Curve) {
	along := slices.IndexFunc(s.Knobs, func(k metrics.Knob) bool { return k.Name == curve.Knob })
	for _, group := range groupsOf(s, along) {
		var points []metrics.Point
		for _, point := range group.points {
			points = append(points, point.Point)
		}
		if c := curve.Of(s.Sweep, points); len(c.Points) > 0 {
			all = append(all, Curve{group.name, c})
		}
	}
	return all
}

// medians returns a quantile's medians, in milliseconds, against the achieved throughput.
func (c Curve) medians(quantile string) (all plotter.XYs) {
	for _, p := range c.Points {
		all = appendLatency(all, p.Achieved, p.Latency(quantile))
	}
	return all
}

// dots returns a quantile of each trial.
func (c Curve) dots(quantile string) (all plotter.XYs) {
	for _, p := range c.Points {
		for i, us := range p.Latencies(quantile) {
			all = appendLatency(all, p.Valid[i].OpsPerS, us)
		}
	}
	return all
}

// intervals returns the 95 % intervals of a quantile's medians, of points with trials enough.
func (c Curve) intervals(quantile string) (all []figure.Interval) {
	for _, p := range c.Points {
		us := p.Latencies(quantile)
		if slices.ContainsFunc(us, func(us float64) bool { return math.IsNaN(us) || math.IsInf(us, 1) }) {
			continue
		}
		if e, ok := stats.MedianInterval(us, 0.95); ok {
			all = append(all, figure.Interval{XY: plotter.XY{X: p.Achieved, Y: max(1, e.Median) / 1000}, Low: max(1, e.Low) / 1000, High: max(1, e.High) / 1000})
		}
	}
	return all
}

// appendLatency appends a latency given in microseconds, unless it is none. A logarithmic
// axis has no zero.
func appendLatency(all plotter.XYs, opsPerS, us float64) plotter.XYs {
	if math.IsNaN(us) || math.IsInf(us, 1) {
		return all
	}
	return append(all, plotter.XY{X: opsPerS, Y: max(1, us) / 1000})
}

// The styles of an objective: its limit and its rate, and the ends of the rate's interval.
var (
	limitLine   = figure.Stroke(figure.Alarm, 1.2)
	limitBounds = figure.Stroke(figure.Alarm, 1.2, 2, 2.5)
)

// CurveFigure draws curves in a figure without panels. One curve has a line for each
// quantile through the medians, a dot for every trial, its knee, and the rate up to which
// its objective holds. Several have p99 in full lines, p50 in broken ones, and their knees.
func CurveFigure(f figure.Figure, curves []Curve) figure.Figure {
	p := figure.NewPanel("operations per second, achieved", "latency from due to reply (ms)")
	p.Place = func(x float64) string { return format.Count(x) + " ops/s" }
	f.Panels = []*figure.Panel{p}
	var drawn plotter.XYs
	without, names := 0, figure.Group{}
	for i, c := range curves {
		quantiles := curve.Quantiles
		if len(curves) > 1 {
			quantiles = []string{"p99", "p50"}
		}
		for j, quantile := range quantiles {
			style := figure.Mixed(j, len(quantiles))
			if len(curves) > 1 {
				if style = figure.Mixed(i, len(curves)); j == 1 {
					style = figure.Stroke(style.Color, style.Width.Points()/2, 2, 2.5)
				}
			}
			medians := c.medians(quantile)
			drawn = append(drawn, medians...)
			p.Line(style, medians)
			p.Glyphs(figure.Box(style), medians)
			dots, intervals := c.dots(quantile), c.intervals(quantile)
			drawn = append(drawn, dots...)
			for _, i := range intervals {
				drawn = append(drawn, plotter.XY{X: i.X, Y: i.Low}, plotter.XY{X: i.X, Y: i.High})
			}
			p.Glyphs(figure.Dot(style), dots)
			p.Intervals(style, intervals)
			if len(medians) > 0 {
				names.Entries = append(names.Entries, figure.Entry{Name: strings.Trim(quantile+", "+c.Name, ", "), System: c.Name, Line: style, Glyph: figure.Box(style)})
			}
		}
		medians := c.medians("p50")
		without += len(c.Points) - len(medians)
		p.Tooltip(format.Label(c.Name, 60), medians, func(i int) string { return c.text(medians[i].X) })
	}
	if without > 0 {
		names.Entries = append(names.Entries, figure.Entry{Name: fmt.Sprintf("%s more without percentiles: saturated, or too few calls", format.Plural(without, "rate"))})
	}
	scale(p, drawn, curves)
	marks := figure.Group{}
	for i, c := range curves {
		style := figure.Stroke(figure.Grey, 1.4, 7, 4)
		if len(curves) > 1 {
			style.Color = figure.Mixed(i, len(curves)).Color
		}
		marks.Entries = append(marks.Entries, c.mark(p, style)...)
	}
	marks.Screen = len(curves) > 1
	f.Legend = []figure.Group{names, marks}
	return f
}

// scale sets the axes, with room for every point drawn and for the objectives' limits.
func scale(p *figure.Panel, drawn plotter.XYs, curves []Curve) {
	least, most, low, high := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, at := range drawn {
		least, most, low, high = min(least, at.X), max(most, at.X), min(low, at.Y), max(high, at.Y)
	}
	if len(drawn) == 0 {
		least, low, high = 0, 1, 10
		p.Notice("no open loop has a latency: all were saturated, or had too few calls")
	}
	for _, c := range curves {
		if limit := c.limit(); limit > 0 {
			low, high = min(low, limit), max(high, limit)
		}
	}
	p.LogY(low, high, format.Shortest)
	p.X.Max, p.X.Tick.Marker = figure.Top(most), figure.Ticks(format.Count)
	if p.X.Min = 0; least < most { // low rates that nobody offered would be a blank band
		p.X.Min = max(0, least-(p.X.Max-most))
	}
}

// limit returns the objective's limit in milliseconds; 0 without one.
func (c Curve) limit() float64 { return c.Objective.Limit.Seconds() * 1000 }

// mark draws the knee, the objective's limit, and the rate up to which the objective holds
// with the ends of its interval. It returns their entries in the legend. Those of several curves
// are on a screen alone.
func (c Curve) mark(p *figure.Panel, style draw.LineStyle) (entries []figure.Entry) {
	line := p.Line
	if c.Name != "" {
		line = p.ScreenLine
	}
	upright := func(style draw.LineStyle, x float64) {
		if x > 0 && x >= p.X.Min && x <= p.X.Max {
			line(style, plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
		}
	}
	add := func(line, brief string, style draw.LineStyle) {
		if line != "" {
			entries = append(entries, figure.Entry{Name: strings.TrimPrefix(c.Name+": "+line, ": "), Brief: strings.TrimPrefix(c.Name+": "+brief, ": "), System: c.Name, Line: style})
		}
	}
	add(c.PeakLine(), "", draw.LineStyle{})
	if knee := c.Knee(); knee >= 0 {
		upright(style, c.Points[knee].Achieved)
		add(c.KneeLine(), "knee", style)
	} else {
		add(c.KneeLine(), "", draw.LineStyle{})
	}
	if c.Objective != (curve.Objective{}) {
		rate := c.Rate()
		upright(limitLine, rate.OpsPerS)
		upright(limitBounds, rate.Low)
		upright(limitBounds, rate.High)
		line(limitLine, plotter.XYs{{X: p.X.Min, Y: c.limit()}, {X: p.X.Max, Y: c.limit()}})
		add(c.ObjectiveLine(), c.Objective.String(), limitLine)
	}
	return entries
}

// text returns the point with this throughput in a tooltip.
func (c Curve) text(achieved float64) string {
	i := slices.IndexFunc(c.Points, func(p curve.Point) bool { return p.Achieved == achieved })
	var words []string
	for _, quantile := range curve.Quantiles {
		if us := c.Points[i].Latency(quantile); !math.IsNaN(us) {
			words = append(words, fmt.Sprintf("%s %s ms", quantile, format.Milliseconds(us)))
		}
	}
	return strings.Join(words, ", ")
}
