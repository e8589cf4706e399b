package chart

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"kvlab/metrics/format"
	"kvlab/metrics/latency"
	"kvlab/plots/figure"
)

// Latencies is a distribution with a name.
type Latencies struct {
	Name      string
	Of        *latency.Distribution
	Calls     int64 // in which they were measured
	Several   bool  // the name is that of a system
	Saturated bool  // they grow with the length of a run
}

// LatencyCDF shows the share of what took at most a time, on an axis on which the rest
// shrinks by ten at each of its steps. Each curve ends where its number of calls stops
// supporting it.
func LatencyCDF(what string, all []Latencies) figure.Figure {
	p := figure.NewPanel(what, "share")
	low, high, top := math.Inf(1), 0.0, 1.0
	var group figure.Group
	for i, l := range all {
		style := figure.Mixed(i, len(all))
		var points plotter.XYs
		for _, at := range latencyCurve(l.Of, supportedNines(l.Calls)) {
			points = append(points, plotter.XY{X: at.Y, Y: at.X})
			low, high, top = min(low, at.Y), max(high, at.Y), max(top, at.X)
		}
		p.Line(style, points)
		p.Glyphs(figure.Sparse(style), few(points, i, len(all)))
		entry := figure.Entry{Name: l.Name, Line: style, Glyph: figure.Sparse(style)}
		if l.Several {
			entry.System = l.Name
		}
		group.Entries = append(group.Entries, entry)
	}
	p.LogX(low, high, format.Shortest)
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, top, plot.ConstantTicks(percentileTicks(math.Ceil(top)))
	return figure.Figure{Name: "latency_cdf", Title: "Distribution of latencies", Legend: []figure.Group{group}, Panels: []*figure.Panel{p}}
}
