// Package figure draws pictures, as PNG, SVG and PDF: a title and a legend at the
// top, and one or several panels that share their x axis below. It knows nothing
// of runs.
package figure

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The size of a screen's figure: 1600 x 900 pixels.
const (
	widthPt  = vg.Length(960)
	heightPt = vg.Length(540)
	dpi      = 120
	marginPt = vg.Length(15)
)

// The least area of a panel's data, in units: some letters of text, four labels below each other.
const leastWidth, leastHeight = vg.Length(120), vg.Length(60)

// Figure is one picture.
type Figure struct {
	Name     string // the file's name without its extension
	Title    string
	Subtitle string
	Alarm    string // why the data is not valid; drawn in red
	Legend   []Group
	Panels   []*Panel
	Style    Style
}

// draw draws text, legend and panels from the top of a canvas of the figure's size to its
// bottom, and returns the area of each panel's data in units. The error says that a paper has no
// room for them.
func (f Figure) draw(canvas vg.Canvas, width, height vg.Length) ([]vg.Rectangle, error) {
	c := f.head(canvas, width, height)
	areas := f.drawPanels(c)
	for _, area := range areas {
		if size := area.Size(); f.Style.Paper && (size.X < leastWidth || size.Y < leastHeight) {
			return nil, fmt.Errorf("%s of %.4g x %.4g points has no room beside its text of %.3g points: want more width or height, or a smaller font",
				f.Name, width.Points(), height.Points(), (screenFont * f.Style.scale()).Points())
		}
	}
	return areas, nil
}

// head draws text and legend, and returns the room for the panels.
func (f Figure) head(canvas vg.Canvas, width, height vg.Length) draw.Canvas {
	unit, margin := f.Style.scale(), marginPt
	c := draw.NewCanvas(newSheet(canvas, f), width/unit, height/unit)
	if f.Style.narrow() {
		margin = 3
		f = f.brief()
	}
	c = draw.Crop(c, margin, -margin, margin, -margin)
	for _, part := range []struct {
		style text.Style
		words string
	}{{bold(19, Ink), f.Title}, {sans(12.5, Grey), f.Subtitle}, {bold(12.5, Alarm), f.Alarm}} {
		for _, line := range wrap(part.words, part.style, c.Size().X, 2) {
			c.FillText(part.style, vg.Point{X: c.Min.X, Y: c.Max.Y - part.style.Font.Size}, line)
			c.Max.Y -= 1.35 * part.style.Font.Size
		}
	}
	c.Max.Y -= vg.Points(3)
	for _, group := range f.Legend {
		c.Max.Y -= group.draw(c)
	}
	c.Max.Y -= vg.Points(6)
	return c
}

// brief returns the figure for a small room: on paper without words but for its axes and its
// legend, which is one group of short names without notes.
func (f Figure) brief() Figure {
	if f.Style.Paper {
		f.Title, f.Subtitle, f.Alarm = "", "", ""
	}
	var one Group
	for _, group := range f.Legend {
		for _, e := range group.Entries {
			if e.Name = cmp.Or(e.Brief, e.Name); !e.isNote() && !(f.Style.Paper && (e.isArea() || group.Screen)) {
				one.Entries = append(one.Entries, e)
			}
		}
	}
	if f.Legend = []Group{one}; f.Style.Paper && len(one.Entries) == 1 {
		f.Legend = nil
	}
	return f
}

// drawPanels draws the panels with the labels of their y axes, and returns the area of
// each panel's data. gonum would draw the labels too, but takes them for off the middle
// of a logarithmic axis and leaves a blank band above the panel. In a small room, the
// label of the x axis is drawn likewise.
func (f Figure) drawPanels(c draw.Canvas) []vg.Rectangle {
	label, left := sans(13, Ink), c.Min.X
	label.Rotation, label.XAlign = math.Pi/2, text.XCenter
	rows, names, lines := make([][]*plot.Plot, len(f.Panels)), make([][]string, len(f.Panels)), 1
	for i, panel := range f.Panels {
		rows[i] = []*plot.Plot{panel.view(f.Style, c)}
		names[i] = wrap(panel.label, label, c.Size().Y/vg.Length(len(f.Panels))-40, 2)
		lines = max(lines, len(names[i]))
	}
	c.Min.X += (0.3 + 1.3*vg.Length(lines)) * label.Font.Size
	low, below := sans(13, Ink), []string(nil)
	if low.XAlign = text.XCenter; f.Style.narrow() {
		below = wrap(f.Panels[len(f.Panels)-1].X.Label.Text, low, c.Size().X-40, 2)
	}
	bottom := c.Min.Y
	c.Min.Y += 1.3 * low.Font.Size * vg.Length(len(below))
	areas := make([]vg.Rectangle, len(rows))
	tiles := draw.Tiles{Cols: 1, Rows: len(rows), PadY: vg.Points(8)}
	for i, row := range plot.Align(rows, tiles, c) {
		rows[i][0].Draw(row[0])
		areas[i] = rows[i][0].DataCanvas(row[0]).Rectangle
		for n, name := range names[i] {
			right := vg.Length(n+lines-len(names[i]))*1.3 + 1
			c.FillText(label, vg.Point{X: left + right*label.Font.Size, Y: (areas[i].Min.Y + areas[i].Max.Y) / 2}, name)
		}
	}
	for n, line := range below {
		up := 1.3*vg.Length(len(below)-n) - 1
		c.FillText(low, vg.Point{X: (areas[0].Min.X + areas[0].Max.X) / 2, Y: bottom + up*low.Font.Size}, line)
	}
	return areas
}

// wrap breaks words into at most rows lines of a width. What does not fit is cut
// off, with an ellipsis.
func wrap(words string, style text.Style, width vg.Length, rows int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(words) {
		longer := strings.TrimSpace(line + " " + word)
		if line == "" || style.Width(longer) <= width {
			line = longer
			continue
		}
		lines = append(lines, line)
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > rows {
		lines = lines[:rows]
		lines[rows-1] += " …"
	}
	for i, line := range lines {
		for runes := []rune(line); len(runes) > 1 && style.Width(lines[i]) > width; runes = runes[:len(runes)-1] {
			lines[i] = string(runes[:len(runes)-1]) + "…"
		}
	}
	return lines
}

// Group is a group of a legend's entries.
type Group struct {
	Name    string // "" for none
	Entries []Entry
	Screen  bool // and not on paper
}

// Entry is one name in a legend and how it is drawn.
type Entry struct {
	Name   string
	Brief  string // where there is little room; "" for Name
	System string // the part of both names that labels replace; "" if it is none of several systems
	Line   draw.LineStyle
	Glyph  draw.GlyphStyle // none if its Shape is nil
}

// isArea reports whether the entry is of a shaded area.
func (e Entry) isArea() bool { return e.Line.Color == Busy }

// isNote reports whether the entry is words alone.
func (e Entry) isNote() bool { return e.Line.Width == 0 && e.Glyph.Shape == nil }

// The measures of a legend, in points.
const (
	legendRows  = 3 // of one group; the rest is only counted
	narrowRows  = 8 // of the only group in a small room
	legendRowPt = vg.Length(18)
	legendIcon  = vg.Length(26)
	legendGap   = vg.Length(6)  // between icon and name
	legendSpace = vg.Length(16) // between entries
	legendHead  = vg.Length(60) // width of the group's name
)

// draw draws the group at the top of c, row by row, and returns its height.
func (g Group) draw(c draw.Canvas) vg.Length {
	style, left := sans(12.5, Ink), c.Min.X
	if len(g.Entries) == 0 {
		return 0
	}
	at := vg.Point{X: left, Y: c.Max.Y - style.Font.Size}
	if g.Name != "" {
		c.FillText(bold(12.5, Grey), at, g.Name)
		left += legendHead
	}
	at.X = left
	row, rows := 1, legendRows
	if on(c).style.narrow() {
		rows = narrowRows
	}
	for i, e := range g.Entries {
		icon := legendIcon + legendGap
		if e.isNote() {
			icon = 0
		}
		rest := ""
		if n := len(g.Entries) - i; n > 1 {
			rest = fmt.Sprintf("and %d more", n)
		}
		room := c.Max.X
		if row == rows && rest != "" {
			room -= style.Width(rest) + legendSpace
		}
		name := wrap(e.Name, style, room-left-icon, 1)
		if at.X > left && at.X+icon+style.Width(e.Name) > room {
			if row == rows {
				c.FillText(style, at, rest)
				break
			}
			row++
			at = vg.Point{X: left, Y: at.Y - legendRowPt}
		}
		if len(name) > 0 {
			e.draw(c, at)
			c.FillText(style, vg.Point{X: at.X + icon, Y: at.Y}, name[0])
			at.X += icon + style.Width(name[0]) + legendSpace
		}
	}
	return legendRowPt * vg.Length(row)
}

// draw draws the entry's line and glyph at the left end of its base line.
func (e Entry) draw(c draw.Canvas, at vg.Point) {
	middle := at.Y + vg.Points(4.5)
	if e.Line.Width > 0 {
		c.StrokeLine2(on(c).line(e.Line), at.X, middle, at.X+legendIcon, middle)
	}
	if e.Glyph.Shape != nil {
		c.DrawGlyphNoClip(e.Glyph, vg.Point{X: at.X + legendIcon/2, Y: middle})
	}
}
