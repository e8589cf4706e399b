package figure

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is a plot with an x and a y axis, a grid, and tooltips.
type Panel struct {
	*plot.Plot
	Place func(x float64) string // names a place on the x axis in a tooltip
	Reach float64                // a tooltip has the points that lie so near to its place, in x
	label string                 // of the y axis, which the figure draws

	Below      bool // another panel has the names of the spans, where there is little room
	Magnitudes bool // values that differ by so much that a paper has a logarithmic y axis
	barred     bool
	low, high  float64 // of the y above zero that were added; 0 for none
	curves     []curve
	axis       *valueTicks // of x; nil if it is another
}

// NewPanel returns an empty panel.
func NewPanel(x, y string) *Panel {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Padding = 0
		axis.Color, axis.Width = Grey, vg.Points(0.8)
		axis.Tick.Color, axis.Tick.Width = Grey, vg.Points(0.8)
		axis.Tick.Label.Font = sans(12, Ink).Font
		axis.Tick.Label.Color = Ink
		axis.Label.TextStyle.Font = sans(13, Ink).Font
		axis.Label.TextStyle.Color = Ink
		axis.Label.Padding = vg.Points(4)
	}
	p.X.Label.Text = x
	grid := plotter.NewGrid()
	grid.Vertical, grid.Horizontal = Stroke(gridLine, 0.7), Stroke(gridLine, 0.7)
	p.Add(grid)
	return &Panel{Plot: p, label: y}
}

// Line adds a line through points, if there are any.
func (p *Panel) Line(style draw.LineStyle, points plotter.XYs) {
	if len(points) > 0 {
		p.note(points)
		p.Add(lined{&plotter.Line{XYs: points, LineStyle: style}, false})
	}
}

// ScreenLine adds a line that a paper does not have.
func (p *Panel) ScreenLine(style draw.LineStyle, points plotter.XYs) {
	p.Add(lined{&plotter.Line{XYs: points, LineStyle: style}, true})
}

// Glyphs adds a glyph at each point.
func (p *Panel) Glyphs(style draw.GlyphStyle, points plotter.XYs) {
	p.note(points)
	p.Add(&plotter.Scatter{XYs: points, GlyphStyle: style})
}

// Function adds the curve of a function.
func (p *Panel) Function(style draw.LineStyle, f func(float64) float64) {
	p.Add(curved{&plotter.Function{F: f, Samples: 400, LineStyle: style}})
}

// Bars adds bars from the lower end of the panel to points, on paper.
func (p *Panel) Bars(style draw.LineStyle, points plotter.XYs) {
	p.barred = true
	p.Add(bars{style, points})
}

type bars struct {
	style  draw.LineStyle
	points plotter.XYs
}

// Plot draws the bars, half as wide as the distance of two words.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	if !on(c).style.Paper {
		return
	}
	x, y := p.Transforms(&c)
	pale := color.NRGBAModel.Convert(on(c).colour(b.style)).(color.NRGBA)
	pale.A = 0x60
	for _, at := range b.points {
		left, right, top := x(at.X-0.25), x(at.X+0.25), y(at.Y)
		c.FillPolygon(pale, []vg.Point{{X: left, Y: c.Min.Y}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: c.Min.Y}})
	}
}

// Interval is the ends of an interval around a point.
type Interval struct {
	plotter.XY
	Low, High float64
}

// Intervals adds intervals in a line's colour.
func (p *Panel) Intervals(style draw.LineStyle, all []Interval) {
	bars := &plotter.YErrorBars{LineStyle: style, CapWidth: 14}
	bars.LineStyle.Dashes = nil
	for _, i := range all {
		p.note(plotter.XYs{{X: i.X, Y: i.Low}, {X: i.X, Y: i.High}})
		bars.XYs = append(bars.XYs, i.XY)
		bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{i.Y - i.Low, i.High - i.Y})
	}
	p.Add(barred{bars, style})
}

// note notes the range of y above zero.
func (p *Panel) note(points plotter.XYs) {
	for _, at := range points {
		if at.Y > 0 {
			p.low, p.high = min(cmp.Or(p.low, at.Y), at.Y), max(p.high, at.Y)
		}
	}
}

// view returns the panel's plot as a style has it on a canvas.
func (p *Panel) view(s Style, c draw.Canvas) *plot.Plot {
	v := *p.Plot
	name, linear := v.Y.Tick.Marker.(Ticks)
	if linear && v.Y.Min == 0 && p.high > 0 && (s.LogY || s.Paper && p.Magnitudes) {
		v.Y.Scale, v.Y.Tick.Marker = fromZero{}, logTicks(name)
		v.Y.Min, v.Y.Max = logRange(p.low, p.high)
	}
	if s.Paper && p.axis != nil {
		v.X.Min, v.X.Max = p.axis.bounds(1)
	}
	if s.Paper && p.barred { // room for the numbers above
		high := v.Y.Scale.Normalize(v.Y.Min, v.Y.Max, p.high)
		if free := 1 - high; free < 0.12 {
			if linear && v.Y.Min == 0 {
				v.Y.Max *= 1 + 0.12 - free
			} else {
				v.Y.Max *= math.Pow(v.Y.Max/v.Y.Min, 0.12-free)
			}
		}
	}
	if s.narrow() {
		v.X.Label.Text = "" // the figure draws it
		v.X.Tick.Marker = fitting{&v.X, c.Size().X - 60, v.X.Tick.Marker, v.X.Tick.Label.Width}
		v.Y.Tick.Marker = fitting{&v.Y, c.Size().Y / 2, v.Y.Tick.Marker, func(string) vg.Length { return 14 }}
	}
	return &v
}

// LogY makes the y axis logarithmic, around [low, high] as logRange says.
func (p *Panel) LogY(low, high float64, label logTicks) {
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, label
	p.Y.Min, p.Y.Max = logRange(low, high)
}

// LogX makes the x axis logarithmic, likewise.
func (p *Panel) LogX(low, high float64, label logTicks) {
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, label
	p.X.Min, p.X.Max = logRange(low, high)
}

// Notice adds a line of text in the middle of the panel.
func (p *Panel) Notice(words string) { p.Add(notice(words)) }

type notice string

// Plot writes the notice.
func (n notice) Plot(c draw.Canvas, _ *plot.Plot) {
	style := sans(16, Grey)
	style.XAlign, style.YAlign = text.XCenter, text.YCenter
	c.FillText(style, c.Center(), strings.Join(wrap(string(n), style, c.Size().X, 3), "\n"))
}

// Span is a named stretch of the x axis. Everything outside of the one that is
// marked is shaded.
type Span struct {
	Name       string
	Start, End float64
	Marked     bool
}

// Spans marks stretches of the x axis, over the data that is there already.
func (p *Panel) Spans(all []Span) { p.Add(spans{p, all}) }

type spans struct {
	panel *Panel
	all   []Span
}

// Plot draws the shades, and the names above the panel where they fit.
func (s spans) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	inside := func(at float64) vg.Length { return min(max(x(at), c.Min.X), c.Max.X) }
	style := sans(12, Grey)
	style.XAlign = text.XCenter
	named := !s.panel.Below || !on(c).style.narrow()
	for _, span := range s.all {
		left, right := inside(span.Start), inside(span.End)
		if named && right-left > style.Width(span.Name)+vg.Points(4) {
			c.FillText(style, vg.Point{X: (left + right) / 2, Y: c.Max.Y + vg.Points(5)}, span.Name)
		}
		if !span.Marked {
			continue
		}
		for _, side := range [][2]vg.Length{{c.Min.X, left}, {right, c.Max.X}} {
			c.FillPolygon(shade, []vg.Point{{X: side[0], Y: c.Min.Y}, {X: side[1], Y: c.Min.Y}, {X: side[1], Y: c.Max.Y}, {X: side[0], Y: c.Max.Y}})
		}
		for _, border := range []vg.Length{left, right} {
			c.StrokeLine2(Stroke(Grey, 1, 4, 3), border, c.Min.Y, border, c.Max.Y)
		}
	}
}

// GlyphBoxes reserves the room for the names.
func (s spans) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: vg.Points(18)}}}}
}

// Shade colours stretches of the x axis, below the data that is added later, on a screen.
func (p *Panel) Shade(all [][2]float64) { p.Add(shades(all)) }

type shades [][2]float64

// Plot draws the stretches.
func (s shades) Plot(c draw.Canvas, p *plot.Plot) {
	if on(c).style.Paper {
		return
	}
	x, _ := p.Transforms(&c)
	inside := func(at float64) vg.Length { return min(max(x(at), c.Min.X), c.Max.X) }
	for _, span := range s {
		left, right := inside(span[0]), inside(span[1])
		c.FillPolygon(Busy, []vg.Point{{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Max.Y}, {X: left, Y: c.Max.Y}})
	}
}

// Label is words beside a point: on its right and below it, unless otherwise said.
type Label struct {
	At          plotter.XY
	Words       string
	Left, Above bool
	Paper       bool // on paper alone, in the middle above the point; others are on screens alone
}

// Labels adds labels. One that would cover another is left out, and one that would
// leave the panel is moved in.
func (p *Panel) Labels(c color.Color, all []Label) { p.Add(labelled{c, all}) }

type labelled struct {
	color color.Color
	all   []Label
}

// Plot writes the labels.
func (l labelled) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var boxes []vg.Rectangle
	for _, label := range l.all {
		if label.Paper != on(c).style.Paper {
			continue
		}
		style, at := sans(12, l.color), vg.Point{X: x(label.At.X) + 8, Y: y(label.At.Y) - 6}
		style.XAlign, style.YAlign = text.XLeft, text.YTop
		if label.Left {
			style.XAlign, at.X = text.XRight, at.X-14
		}
		if label.Above {
			style.YAlign, at.Y = text.YBottom, at.Y+10
		}
		if label.Paper {
			style.XAlign, style.YAlign, style.Color, at.X, at.Y = text.XCenter, text.YBottom, Ink, at.X-8, at.Y+11
		}
		box := style.Rectangle(label.Words).Add(at)
		in := max(c.Min.X-box.Min.X, 0) - max(box.Max.X-c.Max.X, 0)
		at.X, box.Min.X, box.Max.X = at.X+in, box.Min.X+in, box.Max.X+in
		covers := func(b vg.Rectangle) bool {
			return box.Min.X < b.Max.X && b.Min.X < box.Max.X && box.Min.Y < b.Max.Y && b.Min.Y < box.Max.Y
		}
		if !slices.ContainsFunc(boxes, covers) {
			boxes = append(boxes, box)
			c.FillText(style, at, label.Words)
		}
	}
}
