package figure

import (
	"bytes"
	"image/color"
	"math"
	"strings"
	"testing"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/recorder"
)

// luma returns a colour's brightness from 0 to 1 (ITU-R BT.601).
func luma(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	return (0.299*float64(r) + 0.587*float64(g) + 0.114*float64(b)) / 0xFFFF
}

// On paper, each of 20 lines differs from every other in at least two of lightness, dashes and
// mark, and four in lightness too. On a screen they are as they were.
func TestPaperTellsLinesApart(t *testing.T) {
	const n = 20
	var f Figure
	f.Style.Paper = true
	for i := range n {
		style := Mixed(i, n)
		f.Legend = append(f.Legend, Group{Entries: []Entry{{Name: "x", Line: style, Glyph: Box(style)}}})
	}
	s := newSheet(&recorder.Canvas{}, f)
	for i := range n {
		a := s.line(Mixed(i, n))
		if luma(a.Color) > 0.65 {
			t.Errorf("line %d has a luma of %.2f, which is pale on white", i, luma(a.Color))
		}
		for j := range i {
			b := s.line(Mixed(j, n))
			light := math.Abs(luma(a.Color)-luma(b.Color)) > 0.1
			dashes, mark := lookOf(Stroke(Ink, 1, a.Dashes...)) != lookOf(Stroke(Ink, 1, b.Dashes...)), marks[i%len(marks)] != marks[j%len(marks)]
			if (!light || !dashes) && (!light || !mark) && (!dashes || !mark) || i < 4 && (!light || !dashes || !mark) {
				t.Errorf("lines %d and %d: lightness differs %v, dashes %v, marks %v", i, j, light, dashes, mark)
			}
		}
	}
	s.style.Paper = false
	if got := s.line(Warm.Line(5, 6)); lookOf(got) != lookOf(Warm.Line(5, 6)) {
		t.Errorf("a screen's line became %v", got)
	}
}

// The font of a PDF draws Windows-1252 as the whole font does, and has no other outlines.
func TestSubsetFont(t *testing.T) {
	part, err := subsetFont()
	if err != nil {
		t.Fatal(err)
	}
	whole := plotfont.DefaultCache.Lookup(sans(screenFont, Ink).Font, screenFont).Face
	var buffer sfnt.Buffer
	outline := func(f *sfnt.Font, r rune) sfnt.Segments {
		glyph, err := f.GlyphIndex(&buffer, r)
		if err != nil {
			t.Fatal(err)
		}
		segments, err := f.LoadGlyph(&buffer, glyph, fixed.I(64), nil)
		if err != nil {
			t.Fatalf("%q: %v", r, err)
		}
		return append(sfnt.Segments(nil), segments...)
	}
	for _, r := range "Ag0%.éÄµ…€ß" {
		a, b := outline(part, r), outline(whole, r)
		if len(a) == 0 || len(a) != len(b) {
			t.Fatalf("%q has %d segments, want %d", r, len(a), len(b))
		}
		for i := range a {
			if a[i] != b[i] {
				t.Fatalf("%q differs at segment %d", r, i)
			}
		}
	}
	if len(outline(whole, 'Ж')) == 0 || len(outline(part, 'Ж')) > 0 {
		t.Error("a letter that no PDF has keeps its outline")
	}
	var file bytes.Buffer
	if _, err := part.WriteSourceTo(nil, &file); err != nil || file.Len() > 120e3 {
		t.Errorf("%d bytes, %v", file.Len(), err)
	}
}

// A figure that is too small for its text is an error; values whose magnitudes differ have a
// logarithmic axis on paper, zero at its lower end.
func TestPaperPanels(t *testing.T) {
	p := NewPanel("x", "y")
	p.Line(Mixed(0, 1), plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 9}, {X: 2, Y: 9000}})
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, Top(9000), Ticks(short)
	f := Figure{Name: "f", Panels: []*Panel{p}, Style: Style{Width: 240, Height: 60, Font: 8, Paper: true}}
	if _, err := f.PDF(); err == nil || !strings.Contains(err.Error(), "f of 240 x 60 points has no room") {
		t.Errorf("error %v", err)
	}
	f.Style.Height = 0
	for _, logarithmic := range []bool{false, true} {
		p.Magnitudes = logarithmic
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(svg, []byte(">1000<")); got != logarithmic {
			t.Errorf("the axis has a tick at 1000: %v, want %v:\n%s", got, logarithmic, svg)
		}
	}
}
