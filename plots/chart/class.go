package chart

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// ScoreFigure returns the score of a class against the ratio to the reference, with the place
// of an entry unless its ratio is 0.
func ScoreFigure(steps []metrics.ScoreStep, s metrics.Standing) figure.Figure {
	curve, place := figure.Stroke(figure.Grey, 2), figure.Stroke(figure.Warm[0], 3)
	p := figure.NewPanel("throughput over that of the reference", "score (%)")
	p.Place = func(ratio float64) string { return format.Count(ratio) + "x the reference" }
	first, last := steps[0], steps[len(steps)-1]
	end := 1.1 * max(last.Ratio, s.Ratio, s.RatioHigh)
	points := plotter.XYs{{X: 0, Y: first.Percent}}
	for _, step := range steps {
		points = append(points, plotter.XY{X: step.Ratio, Y: step.Percent})
	}
	points = append(points, plotter.XY{X: end, Y: last.Percent})
	p.Line(curve, points)
	p.Tooltip("score", points, func(i int) string { return format.Tenths(points[i].Y) + " %" })
	entries := []figure.Entry{{Name: "score by the ratio", Line: curve}}
	if s.Ratio > 0 {
		at := plotter.XYs{{X: s.Ratio, Y: s.Score}}
		if s.RatioHigh > 0 {
			p.Line(place, plotter.XYs{{X: s.RatioLow, Y: s.Score}, {X: s.RatioHigh, Y: s.Score}})
		}
		p.Glyphs(draw.GlyphStyle{Color: place.Color, Radius: 6, Shape: draw.CircleGlyph{}}, at)
		p.Labels(figure.Warm[0], []figure.Label{{At: at[0], Words: fmt.Sprintf("%s %%", format.Tenths(s.Score))}})
		p.Tooltip("this entry", at, func(int) string { return format.Tenths(s.Score) + " %" })
		entries = append(entries, figure.Entry{Name: "this entry, with the 95 % interval of its ratio", Line: place,
			Glyph: draw.GlyphStyle{Color: place.Color, Radius: 4, Shape: draw.CircleGlyph{}}})
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, end, 0, figure.Top(max(first.Percent, last.Percent))
	p.X.Tick.Marker = figure.Ticks(func(ratio float64) string { return format.Count(ratio) + "x" })
	p.Y.Tick.Marker = figure.Ticks(format.Count)
	return figure.Figure{Name: "score", Title: "Score by the ratio to the reference", Panels: []*figure.Panel{p}, Legend: []figure.Group{{Entries: entries}}}
}

// RoundsFigure returns the throughput of an entry of a class in each round, and of the
// reference in the same rounds. Trials that are not valid are left out.
func RoundsFigure(s *folder.Sweep, entry string) figure.Figure {
	p := figure.NewPanel("round", "operations per second")
	p.Place = func(round float64) string { return fmt.Sprintf("round %.0f", round) }
	f := figure.Figure{Name: "rounds", Title: "Throughput in each round", Panels: []*figure.Panel{p}, Legend: []figure.Group{{}}}
	most, last := 0.0, 1.0
	for i, name := range []string{entry, s.Class.Reference} {
		if i > 0 && name == entry {
			break
		}
		var points plotter.XYs
		for _, t := range s.TrialsOf(name) {
			if last = max(last, float64(t.Round)); t.Verdict.Valid {
				points, most = append(points, plotter.XY{X: float64(t.Round), Y: t.OpsPerS}), max(most, t.OpsPerS)
			}
		}
		style, title := figure.Stroke(figure.Warm[0], 2), "this entry"
		glyph := draw.GlyphStyle{Color: style.Color, Radius: 4, Shape: draw.CircleGlyph{}}
		if name == s.Class.Reference {
			style, title = figure.Stroke(figure.Cool[0], 2, 7, 3), "the reference"
			glyph = figure.Box(style)
		}
		p.Line(style, points)
		p.Glyphs(glyph, points)
		p.Tooltip(title, points, func(i int) string { return format.Count(points[i].Y) + " ops/s" })
		f.Legend[0].Entries = append(f.Legend[0].Entries, figure.Entry{Name: title, Line: style, Glyph: glyph})
	}
	if most == 0 {
		p.Notice("no round has a valid trial of this entry or of the reference")
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0.5, last+0.5, 0, figure.Top(most)
	p.X.Tick.Marker, p.Y.Tick.Marker = figure.Ticks(wholeRound), figure.Ticks(format.Count)
	return f
}

// wholeRound labels a whole number of an axis of rounds.
func wholeRound(round float64) string {
	if text := format.Tenths(round); !strings.Contains(text, ".") {
		return text
	}
	return ""
}
