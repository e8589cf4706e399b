package plots

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Nines returns where quantile q, in [0, 1), stands on a latency figure's x
// axis: 0.9 at 1, 0.99 at 2, and so on.
func Nines(q float64) float64 { return -math.Log10(1 - q) }

// SupportedNines is how far on that axis n independent samples reach: to the
// quantile q with 1 - q^n = 0.95. It is the inverse of metrics.Samples, which
// says why.
func SupportedNines(n int64) float64 {
	if n <= 0 {
		return 0
	}
	return -math.Log10(-math.Expm1(math.Log(0.05) / float64(n)))
}

// LatencyCurve returns a latency in milliseconds for each place from 0 to
// nines on a latency figure's x axis. An empty distribution has no points.
func LatencyCurve(d *metrics.Distribution, nines float64) plotter.XYs {
	const pointsPerNine = 100
	if d.TotalCount() == 0 {
		return nil
	}
	var curve plotter.XYs
	steps := int(math.Ceil(nines * pointsPerNine))
	median := Nines(0.5) // which the steps would miss
	for i := 0; i <= steps; i++ {
		x := min(float64(i)/pointsPerNine, nines)
		if i > 0 && curve[len(curve)-1].X < median && median < x {
			curve = append(curve, plotter.XY{X: median, Y: latencyMs(d, median)})
		}
		curve = append(curve, plotter.XY{X: x, Y: latencyMs(d, x)})
	}
	return curve
}

// latencyMs reads a latency off d. Values below the histogram's unit, one
// microsecond, count as one: a logarithmic axis has no zero.
func latencyMs(d *metrics.Distribution, nines float64) float64 {
	percentile := 100 * (1 - math.Pow(10, -nines))
	return float64(max(1, d.ValueAtPercentile(percentile))) / microsPerMs
}

// LatencyFigure shows the window's latencies by percentile. Both curves end
// where the number of calls stops supporting them: the operations of one call
// share their fate and are no independent samples.
func LatencyFigure(r *Run) Figure {
	loop := "closed loop"
	if r.Offered != nil {
		loop = "open loop"
	}
	f := runFigure(r, "latency", "Latency by percentile, in the measured window, "+loop)
	p := newPanel("percentile", "latency (ms)")
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 1, 10
	reach := SupportedNines(r.Latencies.Call.TotalCount())
	group, saturated := Group{}, saturation(r.Run)
	low, high := math.Inf(1), 0.0
	var names []string
	var curves []plotter.XYs
	for _, kind := range latencyKinds {
		d := kind.of(r.Latencies)
		curve := LatencyCurve(d, reach)
		if len(curve) == 0 || saturated != "" {
			continue
		}
		low, high = min(low, curve[0].Y), max(high, curve[len(curve)-1].Y)
		polyline(p, kind.line, curve)
		p.Add(milestones{curve: curve, kind: kind})
		group.Entries = append(group.Entries, Entry{Name: kind.describe(d), Line: kind.line})
		names, curves = append(names, strings.TrimSuffix(kind.unit, "s")), append(curves, curve)
	}
	f.Readings = latencyReadings(names, curves)
	if len(group.Entries) == 0 {
		p.Add(notice(cmp.Or(saturated, "no latency was recorded in the window")))
	} else {
		f.Legend = []Group{group}
		p.Y.Min, p.Y.Max = logRange(low, high)
	}
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = logTicks{shortest}
	p.X.Max = max(1, math.Ceil(reach))
	p.X.Tick.Marker = percentileTicks{}
	f.Panels = []*plot.Plot{p}
	return f
}

// saturation is why an open loop's latencies say nothing, "" when they do.
func saturation(run metrics.Run) string {
	if run.Offered == nil {
		return ""
	}
	return run.Offered.Saturated(run.Ops)
}

// latencyKind is one of the two latencies and its look.
type latencyKind struct {
	words, unit string
	of          func(*metrics.Latencies) *metrics.Distribution
	line        draw.LineStyle
	above       bool // its numbers stand above its curve
}

// latencyKinds are the two latencies in the order of the legend and of drawing;
// the first is wide enough to show where they are one.
var latencyKinds = []latencyKind{
	{"op: from the moment it was due to its reply", "ops",
		func(l *metrics.Latencies) *metrics.Distribution { return l.Op }, stroke(vermillion, 4.2), true},
	{"call: from its send to its reply", "calls",
		func(l *metrics.Latencies) *metrics.Distribution { return l.Call }, stroke(blue, 1.8), false},
}

// describe is the kind's line in the legend.
func (k latencyKind) describe(d *metrics.Distribution) string {
	words := fmt.Sprintf("%s (%s %s, max %s ms", k.words, format.Count(float64(d.TotalCount())), k.unit, milliseconds(float64(d.Max())))
	if d.OutOfRange > 0 {
		words += fmt.Sprintf(", %d out of range", d.OutOfRange)
	}
	return words + ")"
}

// logRange is the range of a logarithmic axis around [low, high]: from and to
// 1, 2 or 5 times a power of ten, with room for numbers at the curves.
func logRange(low, high float64) (float64, float64) {
	return roundDown(low / 1.1), 1 / roundDown(1/(high*1.25))
}

// roundDown is the largest 1, 2 or 5 times a power of ten not above v.
func roundDown(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	switch digit := v / decade * (1 + 1e-9); {
	case digit >= 5:
		return 5 * decade
	case digit >= 2:
		return 2 * decade
	}
	return decade
}

// percentileTicks label 0, 50, 90, 99, 99.9, ... percent.
type percentileTicks struct{}

// Ticks returns the ticks within [low, high] nines.
func (percentileTicks) Ticks(low, high float64) []plot.Tick {
	marks := []plot.Tick{{Value: 0, Label: "0 %"}, {Value: Nines(0.5), Label: "50 %"}}
	for nines := 1; float64(nines) <= high; nines++ {
		percent := strconv.FormatFloat(100-math.Pow(10, float64(2-nines)), 'f', max(0, nines-2), 64)
		marks = append(marks, plot.Tick{Value: float64(nines), Label: percent + " %"})
	}
	return marks
}

// milestones are dots with numbers on a curve, at p50, p90, p99, and so on.
type milestones struct {
	curve plotter.XYs
	kind  latencyKind
}

// Plot draws the dots and their numbers.
func (m milestones) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	last := m.curve[len(m.curve)-1].X
	style := sans(12, m.kind.line.Color)
	style.XAlign, style.YAlign = text.XRight, text.YBottom
	shift := vg.Point{X: -5, Y: 4}
	if !m.kind.above {
		style.XAlign, style.YAlign = text.XLeft, text.YTop
		shift = vg.Point{X: 5, Y: -5}
	}
	var written boxes
	for _, tick := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if tick.Value == 0 || tick.Value > last {
			continue
		}
		at := m.at(tick.Value)
		point := vg.Point{X: x(at.X), Y: y(at.Y)}
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: m.kind.line.Color, Radius: 3.5, Shape: draw.CircleGlyph{}}, point)
		written.write(c, style, point.Add(shift), milliseconds(at.Y*microsPerMs)+" ms")
	}
}

// at is the curve's point nearest to a place on the x axis.
func (m milestones) at(nines float64) plotter.XY {
	best := m.curve[0]
	for _, point := range m.curve {
		if math.Abs(point.X-nines) < math.Abs(best.X-nines) {
			best = point
		}
	}
	return best
}
