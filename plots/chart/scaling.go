package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
	"kvlab/metrics"
	"kvlab/metrics/curve"
	"kvlab/metrics/format"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// ScalingFigures returns throughput against each knob that has several values, and
// against the first one if none has; without a knob, against the trials. Trials of
// open loops are shown as latency against throughput too. A study has a figure for each
// claim instead.
func ScalingFigures(s *folder.Sweep) []figure.Figure {
	if s.Study != nil {
		return claimFigures(s)
	}
	var figures []figure.Figure
	for along, knob := range s.Knobs {
		if len(knob.Values) > 1 {
			figures = append(figures, scalingFigure(s, along))
		}
	}
	switch {
	case len(s.Knobs) == 0:
		figures = []figure.Figure{trialsFigure(s)}
	case len(figures) == 0:
		figures = []figure.Figure{scalingFigure(s, 0)}
	}
	if !slices.ContainsFunc(s.Trials, func(t metrics.Trial) bool { return t.OfferedOpsPerS > 0 }) {
		return figures
	}
	latencies := CurveFigure(sweepFigure(s, "latency_throughput", "Latency by throughput, open loop"), CurvesOf(s))
	if curve.Is(s.Sweep) {
		return []figure.Figure{latencies}
	}
	return append(figures, latencies)
}

// sweepFigure returns a figure of a sweep without panels.
func sweepFigure(s *folder.Sweep, name, title string) figure.Figure {
	return figure.Figure{Name: name, Title: title, Subtitle: s.Describe(), Alarm: s.FailureWords()}
}

// knobWords are the names of well-known knobs: in a figure's title, and along its
// axis.
var knobWords = map[string][2]string{
	"nodes":   {"number of nodes", "nodes (servers + clients)"},
	"servers": {"number of servers", "servers"},
	"clients": {"number of clients", "clients"},
	"workers": {"number of workers", "workers of each client"},
	"rate":    {"offered rate", "offered operations per second, or their share of a closed loop's"},
	"batch":   {"batch", "batch: operations of one call"},
	"theta":   {"skew of the keys", "theta: skew of the keys"},
	"records": {"number of records", "records"},
}

// growing are the knobs with which throughput should grow in proportion.
var growing = []string{"nodes", "servers", "clients", "workers"}

// AxisOf returns the axis of a knob.
func AxisOf(knob metrics.Knob) figure.Axis {
	var values []string
	for _, value := range knob.Values {
		values = append(values, knob.Label(value))
	}
	return figure.NewAxis(values, folder.Number, slices.Contains(growing, knob.Name))
}

// scalingFigure shows throughput along one knob: every valid trial a dot, the
// medians with their intervals a line, and beside it the ideal, the scalability law
// and the limit of the links.
func scalingFigure(s *folder.Sweep, along int) figure.Figure {
	knob := s.Knobs[along]
	words := [2]string{format.Label(knob.Name, 40), format.Label(knob.Name, 40)}
	if known, ok := knobWords[knob.Name]; ok {
		words = known
	}
	name := "scaling_" + strings.ReplaceAll(knob.Name, " ", "_")
	if knob.Name == "nodes" {
		name = "throughput_scaling"
	}
	f := sweepFigure(s, name, "Throughput by "+words[0])
	p := figure.NewPanel(words[1], "operations per second")
	x := AxisOf(knob)
	lines := LinesOf(s, along, x)
	if !slices.ContainsFunc(lines, func(l Line) bool { return len(l.measured()) > 0 }) {
		p.Notice("no point has a result")
	}
	for i, line := range lines {
		line.draw(p, x, figure.Mixed(i, len(lines)), len(lines) > 1)
	}
	if len(lines) == 1 {
		lines[0].labelMedians(p, x.Words)
	}
	p.Magnitudes = !x.Grows && magnitudes(lines)
	markFailures(p, lines)
	x.Apply(p, format.Label(knob.Name, 40), format.Label) // now, as what was added has widened the axes
	p.Y.Min, p.Y.Max = 0, top(lines)
	p.Y.Tick.Marker = figure.Ticks(format.Count)
	f.Legend = scalingLegend(lines, knob.Name)
	f.Panels = []*figure.Panel{p}
	return f
}

// top returns the upper end of the y axis: above all data, and above the ideal and the
// limit unless they are so high that the data would look flat.
func top(lines []Line) float64 {
	const atMost = 1.6
	measured, possible := 0.0, 0.0
	for _, line := range lines {
		for _, point := range line.Points {
			for _, rate := range point.Rates() {
				measured = max(measured, rate)
			}
			possible = max(possible, point.Ideal, point.Limit)
		}
	}
	return figure.Top(max(measured, min(possible, atMost*measured)))
}

// The styles of the curves beside the data, if the data is one line.
var (
	idealStroke = figure.Stroke(figure.Grey, 1.8, 7, 4)
	lawStroke   = figure.Stroke(figure.Ink, 1.3, 2, 2.5)
	limitStroke = figure.Stroke(figure.Alarm, 1.6, 9, 3, 2, 3)
)

// draw draws the line, and what belongs beside it: in the line's colour if there
// are several lines.
func (l Line) draw(p *figure.Panel, x figure.Axis, style draw.LineStyle, several bool) {
	beside := func(own draw.LineStyle) draw.LineStyle {
		if several {
			own.Color, own.Width = style.Color, 0.9
		}
		return own
	}
	var all, medians, limit plotter.XYs
	var intervals []figure.Interval
	for _, point := range l.Points {
		median := plotter.XY{X: point.Place, Y: point.Estimate.Median}
		all = append(all, median)
		if point.Limit > 0 {
			limit = append(limit, plotter.XY{X: point.Place, Y: point.Limit})
		}
		if point.Estimate.N > 0 {
			medians = append(medians, median)
		}
		if point.Estimate.Coverage > 0 {
			intervals = append(intervals, figure.Interval{XY: median, Low: point.Estimate.Low, High: point.Estimate.High})
		}
	}
	if i := slices.IndexFunc(l.Points, func(p PointOnLine) bool { return p.Ideal > 0 }); i >= 0 {
		slope := l.Points[i].Ideal / l.Points[i].Place
		p.Function(beside(idealStroke), func(n float64) float64 { return slope * n })
	}
	p.Line(beside(limitStroke), limit)
	if l.Law != nil {
		p.Function(beside(lawStroke), l.Law.At)
	}
	p.Tooltip(format.Label(l.Name, 40), all, func(i int) string { return l.Points[i].text() })
	if len(medians) == 0 {
		return
	}
	switch {
	case !x.Words: // there is nothing between words
		p.Line(style, medians)
	case !several:
		p.Bars(style, medians)
	}
	p.Glyphs(figure.Dot(style), l.dots())
	p.Intervals(style, intervals)
	p.Glyphs(figure.Box(style), medians)
}

// magnitudes reports whether medians differ by so much that the lowest could not be read off a
// linear axis: on 5 cm, a thirtieth is less than the height of a letter.
func magnitudes(lines []Line) bool {
	low, high := math.Inf(1), 0.0
	for _, line := range lines {
		for _, point := range line.measured() {
			low, high = min(low, point.Estimate.Median), max(high, point.Estimate.Median)
		}
	}
	return high >= 30*low
}

// labelMedians writes each median, and its share of the ideal, below the line, or
// above it where it falls. On paper, it writes those of bars alone, above all trials.
func (l Line) labelMedians(p *figure.Panel, bars bool) {
	var labels []figure.Label
	for _, point := range l.measured() {
		at := plotter.XY{X: point.Place, Y: point.Estimate.Median}
		words := format.Count(at.Y)
		if n := len(labels); n > 0 {
			labels[n-1].Above = at.Y < labels[n-1].At.Y
			if point.Ideal > 0 {
				words += fmt.Sprintf(" (%.0f %%)", 100*point.Efficiency())
			}
		}
		labels = append(labels, figure.Label{At: at, Words: words})
	}
	for _, point := range l.measured() {
		if bars {
			at := plotter.XY{X: point.Place, Y: max(slices.Max(point.Rates()), point.Estimate.High)}
			labels = append(labels, figure.Label{At: at, Words: format.Count(point.Estimate.Median), Paper: true})
		}
	}
	p.Labels(figure.Cool[0], labels)
}

// markFailures draws a cross and the number of failed trials, above the x axis, at
// each place that has some.
func markFailures(p *figure.Panel, lines []Line) {
	count := map[float64]int{}
	for _, line := range lines {
		for _, point := range line.Points {
			count[point.Place] += len(point.Failed)
		}
	}
	var crosses plotter.XYs
	var labels []figure.Label
	for _, place := range slices.Sorted(maps.Keys(count)) {
		if n := count[place]; n > 0 {
			at := plotter.XY{X: place, Y: 0.02 * top(lines)}
			crosses = append(crosses, at)
			labels = append(labels, figure.Label{At: at, Words: fmt.Sprintf("%d failed", n), Above: true})
		}
	}
	p.Glyphs(figure.Failure(), crosses)
	p.Labels(figure.Alarm, labels)
}

// scalingLegend names the lines and what is drawn beside them.
func scalingLegend(lines []Line, knob string) []figure.Group {
	var names, beside, law []figure.Entry
	for i, line := range lines {
		style := figure.Mixed(i, len(lines))
		is, mark := line.Standing(), ""
		if is != "valid" && !strings.Contains(line.Name, is) {
			mark = is + ": "
		}
		names = append(names, figure.Entry{Name: cmp.Or(mark+line.Name, "median of the valid trials, each of them a dot"), Brief: cmp.Or(mark+line.Name, "median"), System: line.Name, Line: style, Glyph: figure.Box(style)})
	}
	some := func(has func(PointOnLine) bool) bool {
		return slices.ContainsFunc(lines, func(l Line) bool { return slices.ContainsFunc(l.Points, has) })
	}
	if some(func(p PointOnLine) bool { return p.Estimate.Coverage > 0 }) {
		names[0].Name += ", with 95 % intervals"
	}
	if some(func(p PointOnLine) bool { return p.Ideal > 0 }) {
		beside = append(beside, figure.Entry{Name: "ideal: in proportion from the smallest", Brief: "ideal", Line: idealStroke})
	}
	if some(func(p PointOnLine) bool { return p.Limit > 0 }) {
		beside = append(beside, figure.Entry{Name: "the links' limit", Line: limitStroke})
	}
	switch one := lines[0]; {
	case slices.ContainsFunc(lines, func(l Line) bool { return l.Law != nil }):
		entry := figure.Entry{Name: "Universal Scalability Law", Brief: "USL", Line: lawStroke}
		if len(lines) == 1 {
			entry.Name += ": " + DescribeLaw(*one.Law, knob)
		}
		law = []figure.Entry{entry}
	case len(lines) == 1 && one.NoLaw != "":
		law = []figure.Entry{{Name: "no Universal Scalability Law: " + one.NoLaw}}
	}
	return []figure.Group{{Entries: names}, {Entries: beside}, {Entries: law}}
}

// trialsFigure shows the trials of a sweep without knobs in the order of their
// execution, with their median and its interval, so that a drift can be seen.
func trialsFigure(s *folder.Sweep) figure.Figure {
	f := sweepFigure(s, "throughput_trials", "Throughput by trial")
	p := figure.NewPanel("trial, in the order of execution", "operations per second")
	f.Panels = []*figure.Panel{p}
	if len(s.Trials) == 0 {
		p.Notice("no trial has ended")
		return f
	}
	var numbers []string
	var trials Line
	var all plotter.XYs
	for _, trial := range s.Trials {
		point := metrics.Summarize(metrics.Sweep{}, []metrics.Trial{trial})[0]
		numbers = append(numbers, strconv.Itoa(trial.Number))
		trials.Points = append(trials.Points, onLine(folder.Point{Point: point}, "", float64(trial.Number)))
		all = append(all, plotter.XY{X: float64(trial.Number), Y: trial.OpsPerS})
	}
	AxisOf(metrics.Knob{Values: numbers}).Apply(p, "trial", format.Label)
	p.Y.Tick.Marker = figure.Ticks(format.Count)
	style := figure.Dot(figure.Stroke(figure.Warm[0], 0))
	f.Legend = []figure.Group{{Entries: []figure.Entry{{Name: "one " + metrics.ResultWord(s.Trials) + " trial", Glyph: style}}}}
	if point := s.Points[0]; point.OK() {
		f.Legend[0].Entries = append(f.Legend[0].Entries, drawEstimate(p, point)...)
	}
	p.Glyphs(style, trials.dots())
	markFailures(p, []Line{trials})
	p.Tooltip("", all, func(i int) string { return trialText(s.Trials[i]) })
	p.Y.Min, p.Y.Max = 0, top([]Line{trials})
	return f
}

// drawEstimate draws a point's median across a panel, and its interval as two
// lines, and returns their entries in the legend.
func drawEstimate(p *figure.Panel, point folder.Point) []figure.Entry {
	estimate, bounded := point.Estimate()
	level := func(y float64) plotter.XYs { return plotter.XYs{{X: p.X.Min, Y: y}, {X: p.X.Max, Y: y}} }
	middle := figure.Stroke(figure.Cool[0], 2.4)
	entries := []figure.Entry{{Name: "median: " + estimate.String(), Brief: "median", Line: middle}}
	if bounded {
		band := figure.Stroke(figure.Cool[0], 1, 4, 3)
		p.Line(band, level(estimate.Low))
		p.Line(band, level(estimate.High))
		entries = append(entries, figure.Entry{Name: "its interval", Brief: "95 % interval", Line: band})
	}
	p.Line(middle, level(estimate.Median))
	return entries
}

// trialText returns a trial's result in a tooltip.
func trialText(trial metrics.Trial) string {
	if !trial.Verdict.Stands() {
		return format.Label(trial.Verdict.String(), 120)
	}
	text := format.Count(trial.OpsPerS) + " ops/s"
	if trial.P99 != nil {
		text += fmt.Sprintf(", p99 of a call %s ms", format.Milliseconds(*trial.P99))
	}
	return text
}
