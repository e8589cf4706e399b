package plots

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// ScalingFigures are throughput against each knob that has several values, and
// against the first one if none has; without a knob, against the trials. Trials of
// open loops are shown as latency against throughput too.
func ScalingFigures(s *Sweep) []Figure {
	figures := throughputFigures(s)
	if slices.ContainsFunc(s.Trials, func(t metrics.Trial) bool { return t.OfferedOpsPerS > 0 }) {
		figures = append(figures, latencyThroughputFigure(s))
	}
	return figures
}

func throughputFigures(s *Sweep) []Figure {
	var figures []Figure
	for along, knob := range s.Knobs {
		if len(knob.Values) > 1 {
			figures = append(figures, scalingFigure(s, along))
		}
	}
	switch {
	case len(s.Knobs) == 0:
		return []Figure{trialsFigure(s)}
	case len(figures) == 0:
		return []Figure{scalingFigure(s, 0)}
	}
	return figures
}

// knobWords are what a figure calls the knobs that it knows: in its title, and
// along its axis.
var knobWords = map[string][2]string{
	nodesKnob: {"number of nodes", "nodes (servers + clients)"},
	"servers": {"number of servers", "servers"},
	"clients": {"number of clients", "clients"},
	"workers": {"number of workers", "workers of each client"},
	"rate":    {"offered rate", "offered operations per second, or their share of a closed loop's"},
	"batch":   {"batch", "batch: operations of one call"},
	"theta":   {"skew of the keys", "theta: skew of the keys"},
	"records": {"number of records", "records"},
}

// scalingFigure shows throughput along one knob: every valid trial a dot, the
// medians with their intervals a line, beside what would be ideal, what the law
// predicts and what the links allow.
func scalingFigure(s *Sweep, along int) Figure {
	knob := s.Knobs[along]
	title, xLabel := label(knob.Name, 40), label(knob.Name, 40)
	if words, ok := knobWords[knob.Name]; ok {
		title, xLabel = words[0], words[1]
	}
	name := "scaling_" + knob.Name
	if knob.Name == nodesKnob {
		name = "throughput_scaling"
	}
	f := Figure{Name: name, Title: "Throughput by " + title, Subtitle: describeSweep(s), Alarm: failureWords(s)}
	p := newPanel(xLabel, "operations per second")
	x := axisOf(knob)
	all := lines(s, along, x)
	if !slices.ContainsFunc(all, Line.hasResult) {
		p.Add(notice("no point has a result"))
	}
	for i, line := range all {
		line.draw(p, x, lineStyle(i, len(all)), len(all) > 1)
	}
	if len(all) == 1 {
		p.Add(medianLabels(all[0].Spots))
	}
	p.Add(crosses(all))
	x.mark(p) // now, as what was added has widened the axes
	p.Y.Min, p.Y.Max = 0, top(all)
	p.Y.Tick.Marker = ticks{6, format.Count}
	f.Legend = scalingLegend(all, x)
	f.Panels = []*plot.Plot{p}
	f.Readings = spotReadings(all, knob.Name)
	return f
}

// hasResult reports whether any spot of the line has a median.
func (l Line) hasResult() bool { _, ok := best(l.Spots); return ok }

// top is the upper end of the figure: above all data, and above what could be
// reached as far as that is not so high that it would flatten the data.
func top(all []Line) float64 {
	const atMost = 1.6
	measured, possible := 0.0, 0.0
	for _, line := range all {
		for _, spot := range line.Spots {
			for _, rate := range spot.Rates() {
				measured = max(measured, rate)
			}
			possible = max(possible, spot.Ideal, spot.Limit)
		}
	}
	return roundTop(max(measured, min(possible, atMost*measured)), 6)
}

// lineStyle is how the i-th of n lines is drawn.
func lineStyle(i, n int) draw.LineStyle {
	colours := []color.NRGBA{cool[0], warm[0], cool[2], warm[2], warm[1], cool[1], cool[3], warm[3]}
	width := 2.4
	if n > 4 {
		width = 1.6
	}
	return stroke(colours[i%len(colours)], width, dashes[i/len(colours)%len(dashes)]...)
}

// The styles of what stands beside the data, when that is one line.
var (
	idealStroke = stroke(grey, 1.8, 7, 4)
	lawStroke   = stroke(ink, 1.3, 2, 2.5)
	limitStroke = stroke(alarm, 1.6, 9, 3, 2, 3)
)

// draw puts the line and what stands beside it on a panel. What stands beside one
// of several lines has that line's colour.
func (l Line) draw(p *plot.Plot, x axis, style draw.LineStyle, several bool) {
	beside := func(own draw.LineStyle) draw.LineStyle {
		if several {
			own.Color, own.Width = style.Color, 0.9
		}
		return own
	}
	var medians, limit plotter.XYs
	bars := intervalBars{style: style}
	bars.style.Dashes = nil
	for _, spot := range l.Spots {
		if spot.Limit > 0 {
			limit = append(limit, plotter.XY{X: spot.Place, Y: spot.Limit})
		}
		if spot.Estimate.N == 0 {
			continue
		}
		medians = append(medians, plotter.XY{X: spot.Place, Y: spot.Estimate.Median})
		bars.bars = append(bars.bars, intervalBar{spot.Place, spot.Estimate})
	}
	polyline(p, beside(idealStroke), l.ideal(x))
	polyline(p, beside(limitStroke), limit)
	polyline(p, beside(lawStroke), l.curve(x))
	if len(medians) == 0 {
		return
	}
	if x.kind != words { // between words there is nothing
		polyline(p, style, medians)
	}
	p.Add(&plotter.Scatter{XYs: l.dots(), GlyphStyle: dot(style)}, bars, &plotter.Scatter{XYs: medians, GlyphStyle: middle(style)})
}

// dots are the valid trials of the spots with a result.
func (l Line) dots() (dots plotter.XYs) {
	for _, spot := range l.Spots {
		if spot.Estimate.N == 0 {
			continue
		}
		for _, rate := range spot.Rates() {
			dots = append(dots, plotter.XY{X: spot.Place, Y: rate})
		}
	}
	return dots
}

// dot is a trial on a line of some style: see-through, as many may lie on one
// another.
func dot(style draw.LineStyle) draw.GlyphStyle {
	pale := color.NRGBAModel.Convert(style.Color).(color.NRGBA)
	pale.A = 0x70
	return draw.GlyphStyle{Color: pale, Radius: 3.4, Shape: draw.CircleGlyph{}}
}

// middle is a median on a line of some style.
func middle(style draw.LineStyle) draw.GlyphStyle {
	return draw.GlyphStyle{Color: style.Color, Radius: 3.6, Shape: draw.BoxGlyph{}}
}

// ideal is the line that is linear from the first spot with a result.
func (l Line) ideal(x axis) (points plotter.XYs) {
	for _, spot := range l.Spots {
		if spot.Ideal == 0 {
			continue
		}
		for _, place := range x.samples() {
			points = append(points, plotter.XY{X: place, Y: spot.Ideal / spot.Place * place})
		}
		break
	}
	return points
}

// curve is the law along the axis.
func (l Line) curve(x axis) (points plotter.XYs) {
	if l.Law == nil {
		return nil
	}
	for _, place := range x.samples() {
		if place > 0 {
			points = append(points, plotter.XY{X: place, Y: l.Law.At(place)})
		}
	}
	return points
}

// scalingLegend names the lines and what stands beside them.
func scalingLegend(all []Line, x axis) []Group {
	var names, beside []Entry
	ideal, limit, interval := false, false, false
	for i, line := range all {
		style := lineStyle(i, len(all))
		names = append(names, Entry{Name: cmp.Or(line.Name, "median of the valid trials, each of them a dot"), Line: style, Glyph: middle(style)})
		for _, spot := range line.Spots {
			ideal, limit = ideal || spot.Ideal > 0, limit || spot.Limit > 0
			interval = interval || spot.Estimate.Coverage > 0
		}
	}
	if interval {
		names[0].Name += ", with 95 % intervals"
	}
	if ideal {
		beside = append(beside, Entry{Name: "ideal: in proportion from the smallest", Line: idealStroke})
	}
	if limit {
		beside = append(beside, Entry{Name: "the links' limit", Line: limitStroke})
	}
	if slices.ContainsFunc(all, func(l Line) bool { return l.Law != nil }) {
		entry := Entry{Name: "Universal Scalability Law", Line: lawStroke}
		if len(all) == 1 {
			entry.Name += ": " + all[0].Law.describe(x.knob.Name)
		}
		return []Group{{Entries: names}, {Entries: beside}, {Entries: []Entry{entry}}}
	}
	groups := []Group{{Entries: names}, {Entries: beside}}
	if len(all) == 1 && ideal && all[0].NoLaw != "" {
		groups = append(groups, Group{Entries: []Entry{{Name: "no Universal Scalability Law: " + all[0].NoLaw}}})
	}
	return groups
}
