package figure

import (
	"cmp"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
)

// Style is the size of a figure and its look. The zero Style is a screen's.
type Style struct {
	Width  vg.Length // 0 for 960 points
	Height vg.Length // of one panel and its text; 0 for 540 points, and for what suits another width
	Font   vg.Length // the size of the smallest text, to which lines and marks are in proportion; 0 for 12 points
	Paper  bool      // no title, alarm, notes or values beside points; lines that are told apart without colour
	LogY   bool      // the y axes of values from zero up are logarithmic
}

// The font of a screen's figure, in points. What a figure draws is laid out in its units.
const screenFont = 12

// scale returns the points of a unit.
func (s Style) scale() vg.Length {
	if s.Font == 0 {
		return 1
	}
	return s.Font / screenFont
}

// narrow reports whether there is room for short names only.
func (s Style) narrow() bool { return s.Paper || s.Width > 0 && s.Width < 500*s.scale() }

// size returns the figure's width and height in points.
func (f Figure) size() (width, height vg.Length) {
	width, height = cmp.Or(f.Style.Width, widthPt), f.Style.Height
	further := vg.Length(max(1, len(f.Panels)) - 1)
	switch {
	case height > 0:
		return width, height * (1 + 0.7*further)
	case width == widthPt:
		return width, heightPt
	}
	const high = 100 * widthPt
	room := f.head(&recorder.Canvas{}, width, high).Max.Y * f.Style.scale()
	return width, high - room + width*(0.55+0.27*further) // with text and legend about a golden section
}

// sheet is a canvas on which a unit is some points, and which knows the figure's style: its
// plotters ask it how to draw a line.
type sheet struct {
	vg.Canvas
	unit    vg.Length
	style   Style
	lines   map[string]int      // on paper: the number of a line of the legend, by its look
	colours map[color.Color]int // likewise, of the first line of a colour
}

// on returns the sheet on which a figure is drawn. A part of a canvas has the whole in it.
func on(c draw.Canvas) *sheet {
	for {
		switch within := c.Canvas.(type) {
		case *sheet:
			return within
		case draw.Canvas:
			c = within
		case *draw.Canvas:
			c = *within
		}
	}
}

// newSheet returns the sheet of a figure, on a canvas.
func newSheet(c vg.Canvas, f Figure) *sheet {
	s := &sheet{Canvas: c, unit: f.Style.scale(), style: f.Style, lines: map[string]int{}, colours: map[color.Color]int{}}
	for _, group := range f.Legend {
		for _, e := range group.Entries {
			if group.Screen || e.isNote() || e.isArea() {
				continue
			}
			style := e.Line
			if m, ok := e.Glyph.Shape.(mark); ok {
				style = m.of
			}
			n := len(s.lines)
			if _, ok := s.lines[lookOf(style)]; !ok {
				s.lines[lookOf(style)] = n
			}
			if _, ok := s.colours[style.Color]; !ok {
				s.colours[style.Color] = n
			}
		}
	}
	return s
}

func lookOf(style draw.LineStyle) string { return fmt.Sprint(style.Color, style.Dashes) }

// The lines of a paper: dark, middle, light and half dark, whose lumas (ITU-R BT.601) are
// 0.18, 0.47, 0.62 and 0.34. With five dashes and seven marks, no two of 20 lines are alike
// in more than one of the three.
var (
	greys       = [4]color.NRGBA{Cool[3], Warm[0], Cool[1], Cool[0]}
	paperDashes = [5][]vg.Length{nil, {6, 2.5}, {1.8, 2.2}, {8, 2.5, 1.8, 2.5}, {12, 3}}
	marks       = [7]polygon{{corners: 16}, {corners: 4, turn: 0.5}, {corners: 3}, {corners: 4}, {corners: 16, hollow: true}, {corners: 4, turn: 0.5, hollow: true}, {corners: 3, hollow: true}}
)

// polygon is a mark with a number of corners. One points up, unless it is turned by a share of
// the angle between two.
type polygon struct {
	corners int
	turn    float64
	hollow  bool
}

// DrawGlyph draws the polygon.
func (m polygon) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	var path vg.Path
	for i := range m.corners {
		sin, cos := math.Sincos(2 * math.Pi * (float64(i) + m.turn) / float64(m.corners))
		corner := at.Add(vg.Point{X: vg.Length(sin), Y: vg.Length(cos)}.Scale(style.Radius))
		if i == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	if m.hollow {
		c.SetColor(color.White)
	}
	c.Fill(path)
	if m.hollow {
		c.SetLineStyle(Stroke(style.Color, 1.2))
		c.Stroke(path)
	}
}

// line returns how a line is drawn here.
func (s *sheet) line(style draw.LineStyle) draw.LineStyle {
	if !s.style.Paper {
		return style
	}
	n, ok := s.lines[lookOf(style)]
	if style.Color = s.colour(style); ok {
		style.Dashes = paperDashes[n%len(paperDashes)]
	}
	return style
}

// colour returns the colour of a line of the legend, or of one that belongs to it.
func (s *sheet) colour(style draw.LineStyle) color.Color {
	n, ok := s.lines[lookOf(style)]
	if !ok {
		n, ok = s.colours[style.Color]
	}
	if !ok {
		return style.Color
	}
	return greys[n%len(greys)]
}

// mark is the shape of a glyph that belongs to a line. On paper, each line of the legend has its
// own, and others have none.
type mark struct {
	of     draw.LineStyle
	screen draw.GlyphDrawer // nil for nothing
}

// DrawGlyph draws the mark of the line.
func (m mark) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	s := on(*c)
	n, ok := s.lines[lookOf(m.of)]
	switch {
	case s.style.Paper && ok:
		own := greys[n%len(greys)]
		own.A = color.NRGBAModel.Convert(style.Color).(color.NRGBA).A
		style.Color = own
		c.SetColor(own)
		marks[n%len(marks)].DrawGlyph(c, style, at)
	case !s.style.Paper && m.screen != nil:
		m.screen.DrawGlyph(c, style, at)
	}
}

// lined, curved and barred draw as the sheet has it.
type (
	lined struct {
		*plotter.Line
		screen bool // and not on paper
	}
	curved struct{ *plotter.Function }
	barred struct {
		*plotter.YErrorBars
		of draw.LineStyle
	}
)

// Plot draws the line.
func (l lined) Plot(c draw.Canvas, p *plot.Plot) {
	if l.screen && on(c).style.Paper {
		return
	}
	line := *l.Line
	line.LineStyle = on(c).line(line.LineStyle)
	line.Plot(c, p)
}

// Plot draws the curve.
func (f curved) Plot(c draw.Canvas, p *plot.Plot) {
	function := *f.Function
	if function.LineStyle = on(c).line(function.LineStyle); on(c).style.Paper {
		function.Samples = 100
	}
	function.Plot(c, p)
}

// Plot draws the intervals.
func (b barred) Plot(c draw.Canvas, p *plot.Plot) {
	bars := *b.YErrorBars
	if on(c).style.Paper {
		bars.Color, bars.Width, bars.CapWidth = on(c).colour(b.of), 1.2, 7
	}
	bars.Plot(c, p)
}

// fromZero is a logarithmic scale for values that may be zero: they are at the low end.
type fromZero struct{}

// Normalize returns where x is between low and high, as a share.
func (fromZero) Normalize(low, high, x float64) float64 {
	return math.Log(max(x, low)/low) / math.Log(high/low)
}

// SetLineWidth sets a width in units.
func (s *sheet) SetLineWidth(w vg.Length) { s.Canvas.SetLineWidth(w * s.unit) }

// SetLineDash sets dashes in units.
func (s *sheet) SetLineDash(dashes []vg.Length, offset vg.Length) {
	var scaled []vg.Length
	for _, d := range dashes {
		scaled = append(scaled, d*s.unit)
	}
	s.Canvas.SetLineDash(scaled, offset*s.unit)
}

// Translate moves the origin by units.
func (s *sheet) Translate(by vg.Point) { s.Canvas.Translate(by.Scale(s.unit)) }

// Stroke draws a path.
func (s *sheet) Stroke(p vg.Path) { s.Canvas.Stroke(s.scaled(p)) }

// Fill fills a path.
func (s *sheet) Fill(p vg.Path) { s.Canvas.Fill(s.scaled(p)) }

func (s *sheet) scaled(p vg.Path) (scaled vg.Path) {
	for _, part := range p {
		part.Pos, part.Radius = part.Pos.Scale(s.unit), part.Radius*s.unit
		var control []vg.Point
		for _, at := range part.Control {
			control = append(control, at.Scale(s.unit))
		}
		part.Control = control
		scaled = append(scaled, part)
	}
	return scaled
}

// FillString draws text whose size is in units.
func (s *sheet) FillString(face plotfont.Face, at vg.Point, text string) {
	if s.unit != 1 {
		face = plotfont.DefaultCache.Lookup(face.Font, face.Font.Size*s.unit)
	}
	s.Canvas.FillString(face, at.Scale(s.unit), text)
}
