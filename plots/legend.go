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

// draw puts the group at the top of c, in columns of one width, and returns
// its height.
func (g Group) draw(c draw.Canvas) vg.Length {
	style := sans(13, ink)
	left := c.Min.X
	if g.Name != "" {
		c.FillText(bold(13, grey), vg.Point{X: left, Y: c.Max.Y - style.Font.Size}, g.Name)
		left += legendHead
	}
	column := vg.Length(0)
	for _, e := range g.Entries {
		column = max(column, legendIcon+legendGap+style.Width(e.Name)+legendSpace)
	}
	columns := max(1, int((c.Max.X-left+legendSpace)/max(column, 1)))
	shown := g.Entries
	if len(shown) > columns*legendRows {
		shown = shown[:columns*legendRows-1]
	}
	for i := range len(shown) {
		at := vg.Point{X: left + column*vg.Length(i%columns), Y: c.Max.Y - legendRowPt*vg.Length(i/columns) - style.Font.Size}
		shown[i].draw(c, at)
	}
	used := len(shown)
	if rest := len(g.Entries) - used; rest > 0 {
		at := vg.Point{X: left + column*vg.Length(columns-1), Y: c.Max.Y - legendRowPt*(legendRows-1) - style.Font.Size}
		c.FillText(style, at, fmt.Sprintf("and %d more", rest))
		used++
	}
	return legendRowPt * vg.Length((used+columns-1)/columns)
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
