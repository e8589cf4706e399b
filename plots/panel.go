package plots

import (
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
)

// newPanel is an empty panel with axes, units and a grid.
func newPanel(x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Padding = 0
		axis.Color, axis.Width = grey, vg.Points(0.8)
		axis.Tick.Color, axis.Tick.Width = grey, vg.Points(0.8)
		axis.Tick.Label.Font = sans(12.5, ink).Font
		axis.Tick.Label.Color = ink
		axis.Label.TextStyle.Font = sans(14, ink).Font
		axis.Label.TextStyle.Color = ink
		axis.Label.Padding = vg.Points(4)
	}
	p.X.Label.Text, p.Y.Label.Text = x, y
	grid := plotter.NewGrid()
	grid.Vertical, grid.Horizontal = stroke(gridLine, 0.7), stroke(gridLine, 0.7)
	p.Add(grid)
	return p
}

// polyline adds a line through points, if there are any.
func polyline(p *plot.Plot, style draw.LineStyle, points plotter.XYs) {
	if len(points) > 0 {
		p.Add(&plotter.Line{XYs: points, LineStyle: style})
	}
}

// notice is a line of text in the middle of a panel.
type notice string

// Plot writes the notice.
func (n notice) Plot(c draw.Canvas, _ *plot.Plot) {
	style := sans(16, grey)
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	c.FillText(style, c.Center(), strings.Join(wrap(string(n), style, c.Size().X, 3), "\n"))
}

// windowMark dulls everything outside the window, marks its borders, and writes
// the phases' names above the panel where they fit.
type windowMark struct{ phases map[metrics.Phase]Span }

// phaseNames are what a figure calls the phases that it shows.
var phaseNames = map[metrics.Phase]string{
	metrics.Load: "load", metrics.WarmUp: "warm-up", metrics.Window: "measured window", metrics.Drain: "drain",
}

// Plot draws the mark over the data that is there already.
func (m windowMark) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	inside := func(at float64) vg.Length { return min(max(x(at), c.Min.X), c.Max.X) }
	if window, ok := m.phases[metrics.Window]; ok {
		left, right := inside(window.Start), inside(window.End)
		fill(c, c.Min.X, left)
		fill(c, right, c.Max.X)
		for _, border := range []vg.Length{left, right} {
			c.StrokeLine2(stroke(grey, 1, 4, 3), border, c.Min.Y, border, c.Max.Y)
		}
	}
	style := sans(12.5, grey)
	style.XAlign = text.XCenter
	for phase, name := range phaseNames {
		span, ok := m.phases[phase]
		left, right := inside(span.Start), inside(span.End)
		if ok && right-left > style.Width(name)+vg.Points(4) {
			c.FillText(style, vg.Point{X: (left + right) / 2, Y: c.Max.Y + vg.Points(5)}, name)
		}
	}
}

// fill dulls the panel between two places on its x axis.
func fill(c draw.Canvas, left, right vg.Length) {
	c.FillPolygon(veil, []vg.Point{
		{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Max.Y}, {X: left, Y: c.Max.Y},
	})
}

// GlyphBoxes reserves the room for the phases' names.
func (m windowMark) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: vg.Points(20)}}}}
}
