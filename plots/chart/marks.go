package chart

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics/format"
	"kvlab/plots/figure"
)

// medianLabels write each median, and its share of the ideal, beside it.
type medianLabels []PointOnLine

// Plot writes the labels: below the line, or above it where it falls.
func (m medianLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	shown := slices.DeleteFunc(slices.Clone(m), func(s PointOnLine) bool { return s.Estimate.N == 0 })
	labels := figure.Labels{Canvas: c}
	for i, point := range shown {
		words := format.Count(point.Estimate.Median)
		if i > 0 && point.Ideal > 0 {
			words += fmt.Sprintf(" (%.0f %%)", 100*point.Efficiency())
		}
		style, below := figure.Sans(12, figure.Cool[0]), vg.Length(6)
		style.XAlign, style.YAlign = text.XLeft, text.YTop
		if i+1 < len(shown) && shown[i+1].Estimate.Median < point.Estimate.Median {
			style.YAlign, below = text.YBottom, -3
		}
		labels.Write(style, vg.Point{X: x(point.Place) + 10, Y: y(point.Estimate.Median) - below}, words)
	}
}

// failures mark, on the x axis, the points that have failed trials.
type failures []Line

// Plot draws a cross and the number of failed trials at each place.
func (f failures) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	count := map[float64]int{}
	for _, line := range f {
		for _, point := range line.Points {
			count[point.Place] += len(point.Failed)
		}
	}
	for place, n := range count {
		if n == 0 {
			continue
		}
		at := vg.Point{X: x(place), Y: c.Min.Y + 9}
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: figure.Alarm, Radius: 4.5, Shape: draw.CrossGlyph{}}, at)
		c.FillText(figure.Sans(12, figure.Alarm), vg.Point{X: at.X + 8, Y: at.Y - 4}, fmt.Sprintf("%d failed", n))
	}
}
