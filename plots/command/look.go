package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"

	"kvlab/plots"
)

// lookOf is the flags that say how figures look.
type lookOf struct {
	plots.Look
	noTitle bool
}

// lookFlags adds the flags that say how figures look.
func lookFlags(c *Call) *lookOf {
	l := &lookOf{}
	length := func(name, usage string, into *vg.Length) {
		c.Flags.Func(name, usage, func(text string) (err error) {
			*into, err = lengthOf(text)
			return err
		})
	}
	length("width", "`length` of a paper's figure: 3.33in, 8.5cm, 85mm, 240pt", &l.Width)
	length("height", "`length` of its side (default what suits the width)", &l.Height)
	length("font", "`size` of its smallest text, from 6pt (default 8pt)", &l.Font)
	c.Flags.BoolVar(&l.noTitle, "no-title", false, "leave out titles, ids and failures, as with --width")
	c.Flags.BoolVar(&l.LogY, "log-y", false, "logarithmic y axes")
	c.Flags.Func("labels", "`names` of the systems, in the order of the legend: ours,redis", func(text string) error {
		l.Labels = nil // of the last time; flags are parsed twice
		for label := range strings.SplitSeq(text, ",") {
			if label = strings.TrimSpace(label); label == "" || slices.Contains(l.Labels, label) {
				return fmt.Errorf("want different names with commas between them, as in ours,redis")
			}
			l.Labels = append(l.Labels, label)
		}
		return nil
	})
	c.Flags.Func("format", "`pdf`, svg or png (default PNG and PDF)", func(text string) error {
		if l.Format = text; !slices.Contains([]string{"pdf", "svg", "png"}, text) {
			return fmt.Errorf("want pdf, svg or png")
		}
		return nil
	})
	return l
}

// isPaper reports whether a flag asks for a paper's figures.
func (l *lookOf) isPaper() bool { return l.noTitle || l.Width+l.Height+l.Font > 0 }

// The bounds of lengths. Smaller text than 6 points is what publishers send back; a page of 40
// inches would be a PNG of 100 million pixels.
const (
	leastFont = vg.Length(6)
	mostSide  = 40 * vg.Inch
)

// parsed returns the look.
func (l *lookOf) parsed() (plots.Look, error) {
	if l.Paper = l.isPaper(); l.Width > 0 && l.Font == 0 {
		l.Font = 8
	}
	const across, down = 16, 10 // letters of a panel with its axes
	font := max(l.Font, leastFont)
	switch {
	case l.Font > 0 && l.Font < leastFont:
		return l.Look, fmt.Errorf("--font is %s: want 6pt or more, which can be read on paper", inPoints(l.Font))
	case l.Width > mostSide || l.Height > mostSide:
		return l.Look, fmt.Errorf("a figure has 40in at most in --width and in --height")
	case l.Width > 0 && l.Width < across*font:
		return l.Look, fmt.Errorf("--width is %s, too little for text of %s: want %s or more, or a smaller --font", inPoints(l.Width), inPoints(font), inPoints(across*font))
	case l.Height > 0 && l.Height < down*font:
		return l.Look, fmt.Errorf("--height is %s, too little for text of %s: want %s or more, or a smaller --font", inPoints(l.Height), inPoints(font), inPoints(down*font))
	}
	return l.Look, nil
}

func inPoints(l vg.Length) string { return fmt.Sprintf("%.4gpt", l.Points()) }

// units are the lengths of LaTeX, but a point is a PDF's, 1/72 of an inch.
var units = map[string]vg.Length{"in": vg.Inch, "cm": vg.Centimeter, "mm": vg.Millimeter, "pt": 1}

// lengthOf reads a length with its unit.
func lengthOf(text string) (vg.Length, error) {
	number, unit := strings.TrimSpace(text), ""
	if len(number) > 2 {
		number, unit = strings.TrimSpace(number[:len(number)-2]), number[len(number)-2:]
	}
	v, err := strconv.ParseFloat(number, 64)
	if units[unit] == 0 || err != nil || v <= 0 || math.IsInf(v, 1) || math.IsNaN(v) {
		return 0, fmt.Errorf("want a length with its unit, as in 3.33in, 8.5cm, 85mm or 240pt")
	}
	return vg.Length(v) * units[unit], nil
}
