package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics/format"
	"kvlab/metrics/latency"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// nines returns where quantile q, in [0, 1), lies on a latency figure's x axis:
// 0.9 at 1, 0.99 at 2, and so on.
func nines(q float64) float64 { return -math.Log10(1 - q) }

// supportedNines returns how far on that axis n independent samples reach: to the
// quantile q with 1 - q^n = 0.95. It is the inverse of latency.Samples, which
// says why.
func supportedNines(n int64) float64 {
	if n <= 0 {
		return 0
	}
	return -math.Log10(-math.Expm1(math.Log(0.05) / float64(n)))
}

// latencyCurve returns a latency in milliseconds for each place from 0 to reach
// on a latency figure's x axis. An empty distribution has no points.
func latencyCurve(d *latency.Distribution, reach float64) plotter.XYs {
	const pointsPerNine = 100
	if d.TotalCount() == 0 {
		return nil
	}
	places := []float64{min(nines(0.5), reach)} // the median, which the steps would miss
	for i := range int(math.Ceil(reach*pointsPerNine)) + 1 {
		places = append(places, min(float64(i)/pointsPerNine, reach))
	}
	slices.Sort(places)
	var curve plotter.XYs
	for _, x := range slices.Compact(places) {
		curve = append(curve, plotter.XY{X: x, Y: latencyMs(d, x)})
	}
	return curve
}

// latencyMs reads a latency off d. Values below the histogram's unit, one
// microsecond, count as one: a logarithmic axis has no zero.
func latencyMs(d *latency.Distribution, nines float64) float64 {
	percentile := 100 * (1 - math.Pow(10, -nines))
	return float64(max(1, d.ValueAtPercentile(percentile))) / 1000
}

// LatencyFigure shows the window's latencies by percentile. Both curves end where
// the number of calls stops supporting them: the operations of one call are not
// independent samples.
func LatencyFigure(r *folder.Run) figure.Figure {
	loop, saturated := "closed loop", ""
	if r.Offered != nil {
		loop, saturated = "open loop", r.Offered.Saturated(r.Ops)
	}
	f := runFigure(r, "latency", "Latency by percentile, in the measured window, "+loop)
	p := figure.NewPanel("percentile", "latency (ms)")
	reach := supportedNines(r.Latencies.Call.TotalCount())
	p.X.Min, p.X.Max = 0, max(1, math.Ceil(reach))
	ticks := percentileTicks(p.X.Max)
	p.X.Tick.Marker = ticks
	p.Place = percentile
	group := figure.Group{}
	low, high := math.Inf(1), 0.0
	for _, kind := range latencyKinds {
		d := kind.of(r.Latencies)
		curve := latencyCurve(d, reach)
		if len(curve) == 0 || saturated != "" {
			continue
		}
		low, high = min(low, curve[0].Y), max(high, curve[len(curve)-1].Y)
		p.Line(kind.line, curve)
		kind.mark(p, curve, ticks)
		p.Tooltip(kind.name, curve, func(i int) string { return format.Milliseconds(curve[i].Y*1000) + " ms" })
		group.Entries = append(group.Entries, figure.Entry{Name: kind.describe(d), Brief: kind.brief, Line: kind.line, Glyph: figure.Sparse(kind.line)})
	}
	if len(group.Entries) == 0 {
		low, high = 1, 10
		p.Notice(cmp.Or(saturated, "no latency was recorded in the window"))
	}
	p.LogY(low, high, format.Shortest)
	f.Legend = []figure.Group{group}
	f.Panels = []*figure.Panel{p}
	return f
}

// percentile names a place on a latency figure's x axis: "p99.5".
func percentile(nines float64) string {
	digits := max(1, int(nines)-1)
	return fmt.Sprintf("p%.*f", digits, 100*(1-math.Pow(10, -nines)))
}

// latencyKind is one of the two latencies and its look.
type latencyKind struct {
	name, words string
	brief       string
	of          func(*latency.Set) *latency.Distribution
	line        draw.LineStyle
	above       bool // its numbers are written above its curve
}

// latencyKinds are the two latencies in the order of the legend and of drawing.
// The first line is the wider one and shows where the second covers it.
var latencyKinds = []latencyKind{
	{"op", "from the moment it was due to its reply", "operation, from due",
		func(l *latency.Set) *latency.Distribution { return l.Op }, figure.Stroke(figure.Warm[0], 4.2), true},
	{"call", "from its send to its reply", "call, from its send",
		func(l *latency.Set) *latency.Distribution { return l.Call }, figure.Stroke(figure.Cool[0], 1.8), false},
}

// describe returns the kind's line in the legend.
func (k latencyKind) describe(d *latency.Distribution) string {
	words := fmt.Sprintf("%s: %s (%s %ss, max %s ms", k.name, k.words, format.Count(float64(d.TotalCount())), k.name, format.Milliseconds(float64(d.Max())))
	if d.OutOfRange > 0 {
		words += fmt.Sprintf(", %d out of range", d.OutOfRange)
	}
	return words + ")"
}

// percentileTicks label 0, 50, 90, 99, 99.9, ... percent, up to high nines.
func percentileTicks(high float64) plot.ConstantTicks {
	marks := plot.ConstantTicks{{Value: 0, Label: "0 %"}, {Value: nines(0.5), Label: "50 %"}}
	for n := 1; float64(n) <= high; n++ {
		percent := strconv.FormatFloat(100-math.Pow(10, float64(2-n)), 'f', max(0, n-2), 64)
		marks = append(marks, plot.Tick{Value: float64(n), Label: percent + " %"})
	}
	return marks
}

// mark draws dots with numbers on the kind's curve, at p50, p90, p99, and so on.
func (k latencyKind) mark(p *figure.Panel, curve plotter.XYs, ticks plot.ConstantTicks) {
	var dots plotter.XYs
	var labels []figure.Label
	for _, tick := range ticks[1:] {
		if tick.Value > curve[len(curve)-1].X {
			break
		}
		at := curve[figure.Nearest(curve, tick.Value)]
		dots = append(dots, at)
		labels = append(labels, figure.Label{At: at, Words: format.Milliseconds(at.Y*1000) + " ms", Left: k.above, Above: k.above})
	}
	p.Glyphs(figure.Circle(k.line), dots)
	p.Labels(k.line.Color, labels)
}
