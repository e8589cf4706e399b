package plots

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// picture is a figure as a page has it: its words and its legend are text, which
// wraps, and its panels are drawn in two shapes, one for wide pages and one for
// phones, in the page's own colours.
type picture struct {
	Name, Title, Alarm string
	Legend             []legendGroup
	Shapes             []template.HTML
	Stops              []stop
}

// legendGroup is a row of a picture's legend.
type legendGroup struct {
	Name string
	Keys []legendKey
}

// legendKeys is how many entries of a group a page names.
const legendKeys = 12

// legendKey is one entry of it.
type legendKey struct {
	Mark template.HTML // "" for words alone
	Name string
}

// stop is a Reading at its place across the panels, 0 at their left and 1 at their
// right.
type stop struct {
	At   float64  `json:"at"`
	Head string   `json:"head"`
	Rows []string `json:"rows"`
}

// shape is the size of a picture's panels, in points.
type shape struct {
	class               string
	width, first, other vg.Length // the first panel's height, and what each other adds
}

var shapes = []shape{{"wide", 900, 370, 170}, {"narrow", 360, 290, 160}}

// pictures are figures as a page has them.
func pictures(figures []Figure) ([]picture, error) {
	var all []picture
	for _, f := range figures {
		p := picture{Name: f.Name, Title: f.Title, Alarm: f.Alarm, Stops: f.stops()}
		for _, group := range f.Legend {
			row := legendGroup{Name: group.Name}
			for i, e := range group.Entries {
				if rest := len(group.Entries) - i; i == legendKeys-1 && rest > 1 {
					row.Keys = append(row.Keys, legendKey{Name: fmt.Sprintf("and %d more", rest)})
					break
				}
				row.Keys = append(row.Keys, legendKey{e.mark(), e.Name})
			}
			if len(row.Keys) > 0 {
				p.Legend = append(p.Legend, row)
			}
		}
		for _, s := range shapes {
			svg, err := f.inline(s)
			if err != nil {
				return nil, err
			}
			p.Shapes = append(p.Shapes, svg)
		}
		all = append(all, p)
	}
	return all, nil
}

// stops are the figure's readings that lie within its panels, from left to right.
func (f Figure) stops() []stop {
	stops := []stop{} // never null in the page
	for _, r := range f.Readings {
		at := f.Panels[0].X.Norm(r.At)
		if at < 0 || at > 1 || math.IsNaN(at) {
			continue
		}
		stops = append(stops, stop{math.Round(at*1e4) / 1e4, r.Head, r.Rows})
	}
	return stops
}

// inline draws the figure's panels in a shape. The renderer has escaped every
// text in it.
func (f Figure) inline(s shape) (template.HTML, error) {
	size := vg.Point{X: s.width, Y: s.first + s.other*vg.Length(len(f.Panels)-1)}
	canvas := &svgCanvas{Canvas: vgsvg.New(size.X, size.Y)}
	areas := f.drawPanels(draw.Crop(draw.New(canvas), 2, -8, 2, -2))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", fmt.Errorf("render %s: %w", f.Name, err)
	}
	svg := canvas.fitTexts(out.Bytes())
	svg = svg[bytes.Index(svg, []byte("<svg")):]
	svg = svg[bytes.IndexByte(svg, '>')+1:]
	top, bottom := areas[0], areas[len(areas)-1]
	root := fmt.Sprintf(`<svg class="%s" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" aria-hidden="true" data-left="%.4g" data-right="%.4g" data-top="%.4g" data-bottom="%.4g">`,
		s.class, size.X.Points(), size.Y.Points(), top.Min.X.Points(), top.Max.X.Points(), (size.Y - top.Max.Y).Points(), (size.Y - bottom.Min.Y).Points())
	return template.HTML(root + string(recolour(svg))), nil
}

// styleAttribute is an SVG style attribute; a text has no quotation marks, which
// are escaped there. hexColour is a colour in it.
var (
	styleAttribute = regexp.MustCompile(`style="[^"]*"`)
	hexColour      = regexp.MustCompile(`#[0-9A-F]{6}`)
)

// recolour makes the palette's colours the page's, which are others in the dark.
func recolour(svg []byte) []byte {
	return styleAttribute.ReplaceAllFunc(svg, func(style []byte) []byte {
		return hexColour.ReplaceAllFunc(style, func(colour []byte) []byte { return []byte(pageColour(string(colour))) })
	})
}

// pageColour is the style sheet's name of one of the palette's colours. The
// renderer rounds those that are not opaque.
func pageColour(hex string) string {
	const rounding = 2
	var drawn color.NRGBA
	if _, err := fmt.Sscanf(hex, "#%02X%02X%02X", &drawn.R, &drawn.G, &drawn.B); err != nil {
		return hex
	}
	near := func(a, b uint8) bool { return max(a, b)-min(a, b) <= rounding }
	for name, c := range palette {
		if near(c.R, drawn.R) && near(c.G, drawn.G) && near(c.B, drawn.B) {
			return "var(--" + name + ")"
		}
	}
	return hex
}

// hexOf is a colour as SVG writes it, without its opacity.
func hexOf(c color.Color) string {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	return fmt.Sprintf("#%02X%02X%02X", n.R, n.G, n.B)
}

// mark draws how an entry looks in its figure.
func (e Entry) mark() template.HTML {
	if e.Line.Width <= 0 && e.Glyph.Shape == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<svg class="key" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 26 12" aria-hidden="true">`)
	if e.Line.Width > 0 {
		var dashes []string
		for _, d := range e.Line.Dashes {
			dashes = append(dashes, fmt.Sprintf("%g", d.Points()))
		}
		fmt.Fprintf(&b, `<path d="M0,6L26,6" style="fill:none;stroke:%s;stroke-width:%.3g;stroke-dasharray:%s"/>`,
			pageColour(hexOf(e.Line.Color)), e.Line.Width.Points(), strings.Join(append(dashes, "none")[:max(1, len(dashes))], ","))
	}
	switch e.Glyph.Shape.(type) {
	case nil:
	case draw.BoxGlyph:
		fmt.Fprintf(&b, `<rect x="9.4" y="2.4" width="7.2" height="7.2" style="fill:%s"/>`, pageColour(hexOf(e.Glyph.Color)))
	default:
		fmt.Fprintf(&b, `<circle cx="13" cy="6" r="3.6" style="fill:%s"/>`, pageColour(hexOf(e.Glyph.Color)))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// fitting are an axis's ticks with labels as far as there is room for them along
// so many points.
type fitting struct {
	plot.Ticker
	axis   plot.Axis
	length vg.Length
}

// Ticks returns the ticks within [low, high].
func (f fitting) Ticks(low, high float64) []plot.Tick {
	const gap = vg.Length(8)
	marks := slices.Clone(f.Ticker.Ticks(low, high))
	free := vg.Length(math.Inf(-1))
	for i, mark := range marks {
		if mark.Label == "" {
			continue
		}
		at, half := vg.Length(f.axis.Norm(mark.Value))*f.length, f.axis.Tick.Label.Width(mark.Label)/2
		if at-half < free {
			marks[i].Label = ""
			continue
		}
		free = at + half + gap
	}
	return marks
}
