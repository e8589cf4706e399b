package plots

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The measures of a legend, in points.
const (
	legendRows  = 2 // of one group; the rest is only counted
	legendRowPt = vg.Length(19)
	legendIcon  = vg.Length(26)
	legendGap   = vg.Length(6)  // between icon and name
	legendSpace = vg.Length(18) // between entries
	legendHead  = vg.Length(62) // width of the group's name
)

// draw puts the group at the top of c, in one row if it fits there, and
// returns its height.
func (g Group) draw(c draw.Canvas) vg.Length {
	style := sans(13, ink)
	left := c.Min.X
	if g.Name != "" {
		c.FillText(bold(13, grey), vg.Point{X: left, Y: c.Max.Y - style.Font.Size}, g.Name)
		left += legendHead
	}
	at := vg.Point{X: left, Y: c.Max.Y - style.Font.Size}
	if g.width() <= c.Max.X-left {
		for _, e := range g.Entries {
			e.draw(c, at)
			at.X += e.width()
		}
		return legendRowPt
	}
	return g.drawColumns(c, left)
}

// width is what all entries need in one row.
func (g Group) width() vg.Length {
	sum := -legendSpace
	for _, e := range g.Entries {
		sum += e.width()
	}
	return sum
}

// drawColumns puts the entries in columns of one width, from left, and returns
// their height. What does not fit is counted.
func (g Group) drawColumns(c draw.Canvas, left vg.Length) vg.Length {
	style := sans(13, ink)
	column := vg.Length(0)
	for _, e := range g.Entries {
		column = max(column, e.width())
	}
	columns := max(1, int((c.Max.X-left+legendSpace)/column))
	shown := g.Entries
	if len(shown) > columns*legendRows {
		shown = shown[:columns*legendRows-1]
	}
	place := func(i int) vg.Point {
		row := vg.Length(i / columns)
		return vg.Point{X: left + column*vg.Length(i%columns), Y: c.Max.Y - legendRowPt*row - style.Font.Size}
	}
	for i, e := range shown {
		e.draw(c, place(i))
	}
	cells := len(shown)
	if rest := len(g.Entries) - cells; rest > 0 {
		c.FillText(style, place(cells), fmt.Sprintf("and %d more", rest))
		cells++
	}
	return legendRowPt * vg.Length((cells+columns-1)/columns)
}

// width is what the entry needs in a row.
func (e Entry) width() vg.Length {
	return legendIcon + legendGap + sans(13, ink).Width(e.Name) + legendSpace
}

// draw puts the entry at the left end of its base line.
func (e Entry) draw(c draw.Canvas, at vg.Point) {
	middle := at.Y + vg.Points(4.5)
	if e.Line.Width > 0 {
		c.StrokeLine2(e.Line, at.X, middle, at.X+legendIcon, middle)
	}
	if e.Glyph.Shape != nil {
		c.DrawGlyphNoClip(e.Glyph, vg.Point{X: at.X + legendIcon/2, Y: middle})
	}
	c.FillText(sans(13, ink), vg.Point{X: at.X + legendIcon + legendGap, Y: at.Y}, e.Name)
}
