package figure

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Group is a group of a legend's entries.
type Group struct {
	Name    string // "" for none
	Entries []Entry
}

// Entry is one name in a legend and how it is drawn.
type Entry struct {
	Name  string
	Line  draw.LineStyle
	Glyph draw.GlyphStyle // none if its Shape is nil
}

// The measures of a legend, in points.
const (
	legendRows  = 3 // of one group; the rest is only counted
	legendRowPt = vg.Length(18)
	legendIcon  = vg.Length(26)
	legendGap   = vg.Length(6)  // between icon and name
	legendSpace = vg.Length(16) // between entries
	legendHead  = vg.Length(60) // width of the group's name
)

// draw draws the group at the top of c, row by row, and returns its height.
func (g Group) draw(c draw.Canvas) vg.Length {
	style, left := Sans(12.5, Ink), c.Min.X
	if len(g.Entries) == 0 {
		return 0
	}
	at := vg.Point{X: left, Y: c.Max.Y - style.Font.Size}
	if g.Name != "" {
		c.FillText(Bold(12.5, Grey), at, g.Name)
		left += legendHead
	}
	at.X = left
	row := 1
	for i, e := range g.Entries {
		icon := legendIcon + legendGap
		if e.Line.Width == 0 && e.Glyph.Shape == nil {
			icon = 0
		}
		rest := ""
		if n := len(g.Entries) - i; n > 1 {
			rest = fmt.Sprintf("and %d more", n)
		}
		room := c.Max.X
		if row == legendRows && rest != "" {
			room -= style.Width(rest) + legendSpace
		}
		name := wrap(e.Name, style, c.Max.X-left-icon, 1)
		if at.X > left && at.X+icon+style.Width(e.Name) > room {
			if row == legendRows {
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
		c.StrokeLine2(e.Line, at.X, middle, at.X+legendIcon, middle)
	}
	if e.Glyph.Shape != nil {
		c.DrawGlyphNoClip(e.Glyph, vg.Point{X: at.X + legendIcon/2, Y: middle})
	}
}
