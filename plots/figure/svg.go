package figure

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// SVG renders the figure as one SVG document, which looks the same with any fonts
// and shows values where the mouse points.
func (f Figure) SVG() ([]byte, error) {
	canvas := &svgCanvas{Canvas: vgsvg.New(widthPt, heightPt)}
	areas := f.draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("render %s.svg: %w", f.Name, err)
	}
	const end = "</svg>"
	svg := bytes.TrimSuffix(bytes.TrimSpace(canvas.fitTexts(out.Bytes())), []byte(end))
	for i, p := range f.Panels {
		svg = p.tooltips(svg, areas[i])
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
