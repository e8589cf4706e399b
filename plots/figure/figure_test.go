package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/vgsvg"
)

// short writes a number with two digits after the point at most.
func short(v float64) string { return fmt.Sprintf("%.4g", v) }

// labels joins the labels of ticks. Beyond the ends of an axis there are none.
func labels(t plot.Ticker, low, high float64) string {
	var all []string
	for _, tick := range t.Ticks(low, high) {
		if tick.Label != "" {
			all = append(all, tick.Label)
		}
	}
	return strings.Join(all, " ")
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		name      string
		ticker    plot.Ticker
		low, high float64
		want      string
	}{
		{"seconds", Ticks(short), -8.7, 30.4, "-5 0 5 10 15 20 25 30"},
		{"a short run", Ticks(short), -0.32, 0.32, "-0.3 -0.2 -0.1 0 0.1 0.2 0.3"},
		{"ops/s", Ticks(short), 0, 12.5e6, "0 2e+06 4e+06 6e+06 8e+06 1e+07 1.2e+07"},
		{"two decades", logTicks(short), 0.5, 20, "0.5 1 2 5 10 20"},
		{"below one", logTicks(short), 0.02, 0.5, "0.02 0.05 0.1 0.2 0.5"},
		{"six decades", logTicks(short), 0.001, 1000, "0.001 0.01 0.1 1 10 100 1000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := labels(test.ticker, test.low, test.high); got != test.want {
				t.Errorf("ticks of [%g, %g] are %q, want %q", test.low, test.high, got, test.want)
			}
		})
	}
}

func TestTop(t *testing.T) {
	for high := 1e-6; high < 1e12; high *= 1.7 {
		if top := Top(high); top <= high || top > 1.2*high {
			t.Errorf("Top(%g) = %g, want a little more", high, top)
		}
	}
	for _, high := range []float64{0, -1, math.NaN()} {
		if top := Top(high); top != 1 {
			t.Errorf("Top(%g) = %g, want 1", high, top)
		}
	}
}

func TestLogRange(t *testing.T) {
	for _, test := range []struct{ low, high, wantLow, wantHigh float64 }{
		{1.3, 63, 1, 100}, {0.11, 7.9, 0.1, 10}, {0.001, 3.9, 0.0005, 5}, {3, 3, 2, 5},
	} {
		low, high := logRange(test.low, test.high)
		if math.Abs(low/test.wantLow-1) > 1e-9 || math.Abs(high/test.wantHigh-1) > 1e-9 {
			t.Errorf("LogRange(%g, %g) = %g, %g, want %g, %g", test.low, test.high, low, high, test.wantLow, test.wantHigh)
		}
	}
}

func TestWrapCutsVisibly(t *testing.T) {
	style := bold(13.5, Alarm)
	words := "INVALID: " + strings.Repeat("word ", 200) + strings.Repeat("x", 400)
	lines := wrap(words, style, 600, 2)
	if len(lines) != 2 || !strings.HasSuffix(lines[1], "…") {
		t.Fatalf("wrap gives %q, want two lines, the last cut", lines)
	}
	for _, line := range lines {
		if style.Width(line) > 600 {
			t.Errorf("%q is wider than 600 points", line)
		}
	}
	if lines := wrap("", style, 600, 2); lines != nil {
		t.Errorf("wrap of nothing gives %q, want nothing", lines)
	}
}

// A tooltip has the values of all curves near its place, and no others.
func TestTooltip(t *testing.T) {
	p := NewPanel("x", "y")
	p.X.Min, p.X.Max = 0, 10
	p.Place = func(x float64) string { return "at " + short(x) }
	p.Reach = 0.6
	a, b := plotter.XYs{{X: 1, Y: 10}, {X: 2, Y: 20}, {X: 4, Y: 40}}, plotter.XYs{{X: 1.5, Y: 15}, {X: 12, Y: 0}}
	p.Tooltip("a", a, func(i int) string { return short(a[i].Y) })
	p.Tooltip("", b, func(i int) string { return short(b[i].Y) })
	want := map[float64]string{1: "at 1|a: 10|15", 1.5: "at 1.5|a: 20|15", 2: "at 2|a: 20|15", 4: "at 4|a: 40"}
	places := p.places(1.0 / maxPlaces)
	if len(places) != len(want) {
		t.Errorf("places %v, want those of all points on the axis", places)
	}
	for _, place := range places {
		if got := strings.Join(p.values(place), "|"); got != want[place] {
			t.Errorf("the tooltip at %g is %q, want %q", place, got, want[place])
		}
	}
	for i := range 2 * maxValues {
		p.Tooltip(short(float64(i)), a, func(int) string { return "" })
	}
	if got := p.values(4); len(got) != maxValues+1 || got[maxValues] != fmt.Sprintf("and %d more", maxValues+2) {
		t.Errorf("the tooltip of many curves is %q", got)
	}
}

func TestNearest(t *testing.T) {
	points := plotter.XYs{{X: 1}, {X: 2}, {X: 4}}
	for at, want := range map[float64]int{0: 0, 1: 0, 1.4: 0, 1.6: 1, 2.9: 1, 3.1: 2, 5: 2} {
		if got := Nearest(points, at); got != want {
			t.Errorf("nearest to %g is point %d, want %d", at, got, want)
		}
	}
	if got := Nearest(nil, 1); got != -1 {
		t.Errorf("nearest of no points is %d, want -1", got)
	}
}

// A figure is well-formed SVG with an escaped title for each place.
func TestSVGHasTooltips(t *testing.T) {
	p := NewPanel("x", "y")
	p.Place = func(float64) string { return "<place>" }
	points := plotter.XYs{{X: 1, Y: 1}, {X: 2, Y: 3}}
	p.Line(Stroke(color.Black, 1), points)
	p.Tooltip("a&b", points, func(i int) string { return short(points[i].Y) })
	f := Figure{Name: "f", Title: "T<", Panels: []*Panel{p, p}, Legend: []Group{{Name: "g", Entries: make([]Entry, 3)}, {}}}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	titles := 0
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "title" {
			var text string
			if err := d.DecodeElement(&text, &e); err != nil || !strings.HasPrefix(text, "<place>\na&b: ") {
				t.Errorf("title %q, %v", text, err)
			}
			titles++
		}
	}
	if titles != 4 {
		t.Errorf("%d tooltips, want 2 on each of 2 panels", titles)
	}
}

// A panel begins right below the legend, with a logarithmic axis and a long label too.
func TestNoBandAboveThePanel(t *testing.T) {
	for name, scale := range map[string]func(*Panel){
		"linear":      func(p *Panel) { p.Y.Min, p.Y.Max = 0, 100 },
		"two decades": func(p *Panel) { p.LogY(1.3, 63, short) },
		"six decades": func(p *Panel) { p.LogY(0.0013, 630, short) },
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPanel("x", "latency from due to reply (ms)")
			scale(p)
			legend := Group{Entries: []Entry{{Name: "p99", Line: Cool.Line(0, 1)}}}
			const below = heightPt - marginPt - 3 - legendRowPt - 6 // the lower edge of the legend
			areas, err := Figure{Legend: []Group{legend}, Panels: []*Panel{p}}.draw(vgsvg.New(widthPt, heightPt), widthPt, heightPt)
			if err != nil {
				t.Fatal(err)
			}
			if gap := below - areas[0].Max.Y; gap < 0 || gap > 10 {
				t.Errorf("the panel begins %.1f points below the legend, want half of a tick's label", gap)
			}
		})
	}
}

// Of a legend without room for all entries, the rest is counted.
// An image of few colours keeps each. Of one of many, the frequent colours stay, and each
// other pixel takes the nearest of them.
func TestIndexed(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	paint := func(colours int) {
		for i := range 64 * 64 {
			c := color.RGBA{0xFF, 0xFF, 0xFF, 0xFF}
			if i%4 == 0 {
				n := i / 4 % colours
				c = color.RGBA{uint8(n % 16 * 16), uint8(n / 16 * 8), 0, 0xFF}
			}
			img.SetRGBA(i%64, i/64, c)
		}
	}
	for _, colours := range []int{1, 255, 400} {
		paint(colours)
		got := indexed(img)
		if want := min(colours+1, 256); len(got.Palette) != want {
			t.Errorf("an image of %d colours has a palette of %d, want %d", colours+1, len(got.Palette), want)
		}
		for i := range 64 * 64 {
			is, was := got.At(i%64, i/64), img.RGBAAt(i%64, i/64)
			if nearest := got.Palette.Convert(was); is != nearest || colours < 256 && is != was || was.B == 0xFF && is != was {
				t.Fatalf("pixel %d of %d colours is %v, was %v, the nearest is %v", i, colours+1, is, was, nearest)
			}
		}
	}
}

func TestLegendCountsTheRest(t *testing.T) {
	g := Group{Name: "servers"}
	for i := range 100 {
		g.Entries = append(g.Entries, Entry{Name: fmt.Sprint("node", i), Line: Cool.Line(i, 100)})
	}
	f := Figure{Name: "f", Legend: []Group{g}, Panels: []*Panel{NewPanel("x", "y")}}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	shown := bytes.Count(svg, []byte(">node"))
	if want := fmt.Sprintf(">and %d more<", 100-shown); shown < 10 || !bytes.Contains(svg, []byte(want)) {
		t.Errorf("%d entries are shown, and the legend lacks %q", shown, want)
	}
}
