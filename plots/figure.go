package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The size of a figure: 1600 x 900 pixels.
const (
	widthPt  = vg.Length(1200)
	heightPt = vg.Length(675)
	dpi      = 96
	marginPt = vg.Length(18)
)

// Figure is one picture: words and a legend at the top, one or two panels that
// share their x axis below, so that nothing covers the data.
type Figure struct {
	Name     string // the file's name without its ending
	Title    string
	Subtitle string
	Alarm    string // why the run is not valid; drawn in red
	Legend   []Group
	Panels   []*plot.Plot
	Readings []Reading // for a page's readers, who can point at a place
}

// Figures returns every figure of one run, in the report's order.
func Figures(r *Run) []Figure {
	figures := []Figure{ThroughputFigure(r), LatencyFigure(r), CPUFigure(r), NetworkFigure(r), MemoryFigure(r)}
	if r.isSoak() {
		figures = append(figures, SoakFigure(r))
	}
	return figures
}

// Group is one row of a legend.
type Group struct {
	Name    string // "" for none
	Entries []Entry
}

// Entry is one name in a legend and how it is drawn.
type Entry struct {
	Name  string
	Line  draw.LineStyle
	Glyph draw.GlyphStyle // with a nil Shape, none
}

// PNG renders the figure in 1600 x 900 pixels.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(widthPt, heightPt), vgimg.UseDPI(dpi))
	f.draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&out); err != nil {
		return nil, fmt.Errorf("render %s.png: %w", f.Name, err)
	}
	return out.Bytes(), nil
}

// draw puts words, legend and panels on c from top to bottom.
func (f Figure) draw(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	c = draw.Crop(c, marginPt, -marginPt, marginPt, -marginPt)
	c.Max.Y -= writeLine(c, bold(21, ink), f.Title)
	for _, line := range wrap(f.Subtitle, sans(13.5, grey), c.Size().X, 2) {
		c.Max.Y -= writeLine(c, sans(13.5, grey), line)
	}
	for _, line := range wrap(f.Alarm, bold(13.5, alarm), c.Size().X, 2) {
		c.Max.Y -= writeLine(c, bold(13.5, alarm), line)
	}
	c.Max.Y -= vg.Points(4)
	for _, group := range f.Legend {
		c.Max.Y -= group.draw(c)
	}
	c.Max.Y -= vg.Points(8)
	f.drawPanels(c)
}

// drawPanels draws the panels one below the other, with as many words at their x
// axes as c has room for, and returns where each has its data.
func (f Figure) drawPanels(c draw.Canvas) (areas []vg.Rectangle) {
	rows := make([][]*plot.Plot, len(f.Panels))
	for i, panel := range f.Panels {
		fitted := *panel
		fitted.X.Tick.Marker = fitting{panel.X.Tick.Marker, panel.X, c.Size().X - panel.Y.Tick.Label.Width("10.00M")}
		fitted.X.Label.Text = strings.Join(wrap(panel.X.Label.Text, panel.X.Label.TextStyle, c.Size().X*3/4, 2), "\n")
		rows[i] = []*plot.Plot{&fitted}
	}
	tiles := draw.Tiles{Cols: 1, Rows: len(rows), PadY: vg.Points(10)}
	for i, row := range plot.Align(rows, tiles, c) {
		rows[i][0].Draw(row[0])
		areas = append(areas, rows[i][0].DataCanvas(row[0]).Rectangle)
	}
	return areas
}

// writeLine writes one line at the top left of c and returns its height.
func writeLine(c draw.Canvas, style text.Style, line string) vg.Length {
	height := vg.Length(1.35) * style.Font.Size
	c.FillText(style, vg.Point{X: c.Min.X, Y: c.Max.Y - style.Font.Size}, line)
	return height
}

// wrap breaks words into at most rows lines of a width; what does not fit is
// cut off visibly.
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
