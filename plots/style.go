package plots

import (
	"image/color"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
)

// The palette is Okabe and Ito's (https://jfly.uni-koeln.de/color/), which
// people with any form of colour blindness can tell apart, with two dark shades
// added. Servers are cool, clients are warm.
var (
	ink        = color.NRGBA{0x22, 0x22, 0x22, 0xFF}
	grey       = color.NRGBA{0x66, 0x66, 0x66, 0xFF}
	gridLine   = color.NRGBA{0xE3, 0xE3, 0xE3, 0xFF}
	alarm      = color.NRGBA{0xC0, 0x10, 0x10, 0xFF}
	veil       = color.NRGBA{0xF1, 0xF1, 0xF1, 0xB4} // dulls what is outside the window
	blue       = color.NRGBA{0x00, 0x72, 0xB2, 0xFF}
	vermillion = color.NRGBA{0xD5, 0x5E, 0x00, 0xFF}
	cool       = [4]color.NRGBA{blue, {0x56, 0xB4, 0xE9, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0x1B, 0x2A, 0x6B, 0xFF}}
	warm       = [4]color.NRGBA{vermillion, {0xE6, 0x9F, 0x00, 0xFF}, {0xCC, 0x79, 0xA7, 0xFF}, {0x7A, 0x24, 0x12, 0xFF}}
	dashes     = [4][]vg.Length{nil, {7, 3}, {2, 2.5}, {9, 3, 2, 3}}
)

// palette names the colours of figures for a page's style sheet, which has others
// of these names for dark pages.
var palette = map[string]color.NRGBA{
	"ink": ink, "soft": grey, "grid": gridLine, "bad": alarm, "veil": veil,
	"cool0": cool[0], "cool1": cool[1], "cool2": cool[2], "cool3": cool[3],
	"warm0": warm[0], "warm1": warm[1], "warm2": warm[2], "warm3": warm[3],
}

// sans is text of a size in points.
func sans(size float64, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    plotfont.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)},
		Handler: plot.DefaultTextHandler,
	}
}

// bold is sans with more weight.
func bold(size float64, c color.Color) text.Style {
	style := sans(size, c)
	style.Font.Weight = font.WeightBold
	return style
}

// stroke is a line of a width in points.
func stroke(c color.Color, width float64, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(width), Dashes: dashes}
}

// nodeStyle is how the i-th of n nodes of a role is drawn in every figure:
// four colours of the role's family, then the same four dashed.
func nodeStyle(role metrics.Role, i, n int) draw.LineStyle {
	family := warm
	if role == metrics.Server {
		family = cool
	}
	width := 2.0
	switch {
	case n > 3*len(family):
		width = 1
	case n > len(family):
		width = 1.5
	}
	return stroke(family[i%len(family)], width, dashes[i/len(family)%len(dashes)]...)
}

// label makes a foreign name safe to draw: one line of printable characters,
// at most size of them.
func label(name string, size int) string {
	clean := strings.Map(func(c rune) rune {
		if c == unicode.ReplacementChar || !unicode.IsPrint(c) {
			return '?'
		}
		return c
	}, name)
	runes := []rune(clean)
	if len(runes) <= size {
		return clean
	}
	return string(runes[:size-1]) + "…"
}
