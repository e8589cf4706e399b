package plots

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// intervalBar is the interval of the median at one place.
type intervalBar struct {
	place    float64
	estimate metrics.Estimate
}

// intervalBars are the intervals along a line.
type intervalBars struct {
	style draw.LineStyle
	bars  []intervalBar
}

// Plot draws each interval as an upright bar with ends.
func (b intervalBars) Plot(c draw.Canvas, p *plot.Plot) {
	const end = vg.Length(8)
	x, y := p.Transforms(&c)
	for _, bar := range b.bars {
		if bar.estimate.Coverage == 0 {
			continue
		}
		at, low, high := x(bar.place), y(bar.estimate.Low), y(bar.estimate.High)
		c.StrokeLine2(b.style, at, low, at, high)
		c.StrokeLine2(b.style, at-end, low, at+end, low)
		c.StrokeLine2(b.style, at-end, high, at+end, high)
	}
}

// medianLabels write each median, and its share of the ideal, beside it.
type medianLabels []Spot

// Plot writes the labels: below the line, or above it where it falls.
func (m medianLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	shown := slices.DeleteFunc(slices.Clone(m), func(s Spot) bool { return s.Estimate.N == 0 })
	var written boxes
	for i, spot := range shown {
		words := format.Count(spot.Estimate.Median)
		if i > 0 && spot.Ideal > 0 {
			words += fmt.Sprintf(" (%.0f %%)", 100*spot.Efficiency())
		}
		style, below := sans(12.5, blue), vg.Length(6)
		style.XAlign, style.YAlign = text.XLeft, text.YTop
		if i+1 < len(shown) && shown[i+1].Estimate.Median < spot.Estimate.Median {
			style.YAlign, below = text.YBottom, -3
		}
		written.write(c, style, vg.Point{X: x(spot.Place) + 10, Y: y(spot.Estimate.Median) - below}, words)
	}
}

// boxes are where labels have been written.
type boxes []vg.Rectangle

// write writes a label, or leaves it out where it would cover another; one that
// would stand out of c is moved in.
func (b *boxes) write(c draw.Canvas, style text.Style, at vg.Point, words string) {
	box := style.Rectangle(words).Add(at)
	in := max(c.Min.X-box.Min.X, 0) - max(box.Max.X-c.Max.X, 0)
	at.X, box.Min.X, box.Max.X = at.X+in, box.Min.X+in, box.Max.X+in
	for _, other := range *b {
		if box.Min.X < other.Max.X && other.Min.X < box.Max.X && box.Min.Y < other.Max.Y && other.Min.Y < box.Max.Y {
			return
		}
	}
	*b = append(*b, box)
	c.FillText(style, at, words)
}

// crosses mark, on the x axis, the points that have trials which failed.
type crosses []Line

// Plot draws a cross and the number of failed trials at each place.
func (l crosses) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	count := map[float64]int{}
	for _, line := range l {
		for _, spot := range line.Spots {
			count[spot.Place] += len(spot.Failed)
		}
	}
	style := sans(11.5, alarm)
	for place, n := range count {
		if n == 0 {
			continue
		}
		at := vg.Point{X: x(place), Y: c.Min.Y + 9}
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: alarm, Radius: 4.5, Shape: draw.CrossGlyph{}}, at)
		c.FillText(style, vg.Point{X: at.X + 8, Y: at.Y - 4}, fmt.Sprintf("%d failed", n))
	}
}
