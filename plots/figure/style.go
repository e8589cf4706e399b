package figure

import (
	"image/color"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The palette is Okabe and Ito's (https://jfly.uni-koeln.de/color/), which people
// with any form of colour blindness can tell apart, with two dark shades added.
var (
	Ink      = color.NRGBA{0x22, 0x22, 0x22, 0xFF}
	Grey     = color.NRGBA{0x66, 0x66, 0x66, 0xFF}
	Alarm    = color.NRGBA{0xC0, 0x10, 0x10, 0xFF}
	Cool     = Family{{0x00, 0x72, 0xB2, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0x1B, 0x2A, 0x6B, 0xFF}}
	Warm     = Family{{0xD5, 0x5E, 0x00, 0xFF}, {0xE6, 0x9F, 0x00, 0xFF}, {0xCC, 0x79, 0xA7, 0xFF}, {0x7A, 0x24, 0x12, 0xFF}}
	Busy     = color.NRGBA{0xFB, 0xE3, 0xC4, 0xFF} // behind the seconds of a busy machine
	gridLine = color.NRGBA{0xE3, 0xE3, 0xE3, 0xFF}
	shade    = color.NRGBA{0xF1, 0xF1, 0xF1, 0xB4} // over what is outside the measured window
	dashes   = [4][]vg.Length{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}}
)

// Family is a family of colours for lines of one kind.
type Family [4]color.NRGBA

// Line returns the style of the i-th of n lines: each colour of the family, then
// the same colours dashed.
func (f Family) Line(i, n int) draw.LineStyle {
	width := 2.0
	switch {
	case n > 3*len(f):
		width = 1
	case n > len(f):
		width = 1.5
	}
	return Stroke(f[i%len(f)], width, dashes[i/len(f)%len(dashes)]...)
}

// Mixed returns the style of the i-th of n lines of no kind, from both families.
func Mixed(i, n int) draw.LineStyle {
	colours := []color.NRGBA{Cool[0], Warm[0], Cool[2], Warm[2], Warm[1], Cool[1], Cool[3], Warm[3]}
	width := 2.4
	if n > 4 {
		width = 1.6
	}
	return Stroke(colours[i%len(colours)], width, dashes[i/len(colours)%len(dashes)]...)
}

// Stroke returns a line of a width in points.
func Stroke(c color.Color, width float64, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(width), Dashes: dashes}
}

// Dot returns a see-through dot in a line's colour: one of many values.
func Dot(style draw.LineStyle) draw.GlyphStyle {
	pale := color.NRGBAModel.Convert(style.Color).(color.NRGBA)
	pale.A = 0x70
	return draw.GlyphStyle{Color: pale, Radius: 3.4, Shape: mark{style, draw.CircleGlyph{}}}
}

// Box returns a box in a line's colour: the middle of many values.
func Box(style draw.LineStyle) draw.GlyphStyle {
	return draw.GlyphStyle{Color: style.Color, Radius: 3.6, Shape: mark{style, draw.BoxGlyph{}}}
}

// Circle returns a circle in a line's colour: one place of a curve.
func Circle(style draw.LineStyle) draw.GlyphStyle {
	return draw.GlyphStyle{Color: style.Color, Radius: 3.5, Shape: mark{style, draw.CircleGlyph{}}}
}

// Sparse returns the mark of a line of many points, which is on paper alone.
func Sparse(style draw.LineStyle) draw.GlyphStyle {
	return draw.GlyphStyle{Color: style.Color, Radius: 3.5, Shape: mark{of: style}}
}

// Failure returns a cross, on a screen: a result that is none.
func Failure() draw.GlyphStyle {
	return draw.GlyphStyle{Color: Alarm, Radius: 4.5, Shape: mark{screen: draw.CrossGlyph{}}}
}

// sans returns text of a size in points.
func sans(size float64, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    plotfont.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)},
		Handler: plot.DefaultTextHandler,
	}
}

// bold returns sans in a heavier weight.
func bold(size float64, c color.Color) text.Style {
	style := sans(size, c)
	style.Font.Weight = font.WeightBold
	return style
}
