package figure

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG renders the figure as one SVG document, which looks the same with any fonts. On a screen,
// it shows values where the mouse points.
func (f Figure) SVG() ([]byte, error) {
	width, height := f.size()
	canvas := &svgCanvas{Canvas: vgsvg.New(width, height)}
	canvas.SetColor(color.White) // the other formats are white by themselves
	canvas.Fill(vg.Rectangle{Max: vg.Point{X: width, Y: height}}.Path())
	areas, err := f.draw(canvas, width, height)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("render %s.svg: %w", f.Name, err)
	}
	const end = "</svg>"
	svg := bytes.TrimSuffix(bytes.TrimSpace(canvas.fitTexts(out.Bytes())), []byte(end))
	for i, p := range f.Panels {
		if !f.Style.Paper {
			svg = p.tooltips(svg, areas[i], height, f.Style)
		}
	}
	return append(svg, end+"\n"...), nil
}

// svgCanvas is an SVG canvas that notes how wide each text was laid out. Most
// readers do not have the fonts of the layout, and embedding them would add
// 700 kB to each picture.
type svgCanvas struct {
	*vgsvg.Canvas
	widths []vg.Length // of the texts, in their order
}

// FillString draws text and notes its width.
func (c *svgCanvas) FillString(face font.Face, at vg.Point, text string) {
	c.widths = append(c.widths, face.Width(text))
	c.Canvas.FillString(face, at, text)
}

// fitTexts tells the reader the width of every text, and similar fonts.
func (c *svgCanvas) fitTexts(svg []byte) []byte {
	const family = "font-family:Liberation Sans"
	svg = bytes.ReplaceAll(svg, []byte(family+";"), []byte(family+",Arial,Helvetica,sans-serif;"))
	const tag = "<text " // never part of a text, where < is escaped
	parts := bytes.Split(svg, []byte(tag))
	out := parts[0]
	for i, part := range parts[1:] {
		out = fmt.Appendf(out, `%stextLength="%.5g" lengthAdjust="spacingAndGlyphs" `, tag, c.widths[i].Points())
		out = append(out, part...)
	}
	return out
}

// curve is the values that tooltips show of a line.
type curve struct {
	name   string // "" for none
	points plotter.XYs
	value  func(i int) string // of point i
}

// The measures of tooltips: places along an axis, and values of one place.
const (
	maxPlaces = 200
	maxValues = 9
)

// Tooltip has tooltips show the values of points, which are in the order of X.
func (p *Panel) Tooltip(name string, points plotter.XYs, value func(i int) string) {
	p.curves = append(p.curves, curve{name, points, value})
}

// tooltips appends the panel's tooltips to an SVG document: over each place a
// transparent rectangle, whose title browsers show.
func (p *Panel) tooltips(svg []byte, area vg.Rectangle, height vg.Length, s Style) []byte {
	apart := 1.0 / maxPlaces
	if s.narrow() {
		apart *= 4
	}
	places := p.places(apart)
	area.Min, area.Max = area.Min.Scale(s.scale()), area.Max.Scale(s.scale())
	for i, at := range places {
		left, right := 0.0, 1.0
		if i > 0 {
			left = (p.X.Norm(places[i-1]) + p.X.Norm(at)) / 2
		}
		if i+1 < len(places) {
			right = (p.X.Norm(places[i+1]) + p.X.Norm(at)) / 2
		}
		width := float64(area.Size().X)
		svg = fmt.Appendf(svg, `<rect x="%.5g" y="%.5g" width="%.5g" height="%.5g" fill-opacity="0"><title>%s</title></rect>`+"\n",
			float64(area.Min.X)+left*width, float64(height-area.Max.Y), (right-left)*width, float64(area.Size().Y),
			html.EscapeString(strings.Join(p.values(at), "\n")))
	}
	return svg
}

// places returns the places on the x axis that have a tooltip: those of all points on
// the panel, without those that are nearer to the one before than a share of the axis.
func (p *Panel) places(apart float64) (places []float64) {
	var all []float64
	for _, c := range p.curves {
		for _, point := range c.points {
			if at := p.X.Norm(point.X); at >= 0 && at <= 1 {
				all = append(all, point.X)
			}
		}
	}
	slices.Sort(all)
	for _, x := range all {
		if len(places) == 0 || p.X.Norm(x)-p.X.Norm(places[len(places)-1]) > apart {
			places = append(places, x)
		}
	}
	return places
}

// values returns the lines of the tooltip at a place: the place, then a line for each
// curve that has a point there.
func (p *Panel) values(at float64) []string {
	lines := []string{p.Place(at)}
	near := func(x float64) bool {
		return math.Abs(x-at) <= p.Reach || math.Abs(p.X.Norm(x)-p.X.Norm(at)) <= 1.0/maxPlaces
	}
	for _, c := range p.curves {
		if i := Nearest(c.points, at); i >= 0 && near(c.points[i].X) {
			line := c.value(i)
			if c.name != "" {
				line = c.name + ": " + line
			}
			lines = append(lines, line)
		}
	}
	if more := len(lines) - maxValues; more > 0 {
		lines = append(lines[:maxValues], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// Nearest returns the point nearest to a place on the x axis; -1 if there are no points.
func Nearest(points plotter.XYs, at float64) int {
	best := -1
	for i, point := range points {
		if best < 0 || math.Abs(point.X-at) <= math.Abs(points[best].X-at) {
			best = i
		}
	}
	return best
}
