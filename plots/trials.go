package plots

import (
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// trialsFigure shows the trials of a sweep without knobs in the order of their
// execution, so that a drift can be seen, with their median and its interval.
func trialsFigure(s *Sweep) Figure {
	f := Figure{Name: "throughput_trials", Title: "Throughput by trial", Subtitle: describeSweep(s), Alarm: failureWords(s)}
	p := newPanel("trial, in the order of execution", "operations per second")
	f.Panels = []*plot.Plot{p}
	if len(s.Trials) == 0 {
		p.Add(notice("no trial has ended"))
		return f
	}
	x := axis{}
	var dots plotter.XYs
	line := Line{}
	most := 0.0
	for _, trial := range s.Trials {
		number := float64(trial.Number)
		x.places, x.knob.Values = append(x.places, number), append(x.knob.Values, strconv.Itoa(trial.Number))
		if !trial.Verdict.Valid {
			line.Spots = append(line.Spots, Spot{Point: Point{Point: metrics.Point{Failed: []metrics.Trial{trial}}}, Place: number})
			continue
		}
		dots = append(dots, plotter.XY{X: number, Y: trial.OpsPerS})
		most = max(most, trial.OpsPerS)
	}
	p.X.Min, p.X.Max = x.bounds()
	p.Y.Tick.Marker = ticks{6, format.Count}
	style := draw.GlyphStyle{Color: vermillion, Radius: 3.6, Shape: draw.CircleGlyph{}}
	f.Legend = []Group{{Entries: []Entry{{Name: "one valid trial", Glyph: style}}}}
	if point := s.Points[0]; point.OK() {
		f.Legend[0].Entries = append(f.Legend[0].Entries, drawEstimate(p, point)...)
	}
	p.Add(&plotter.Scatter{XYs: dots, GlyphStyle: style}, crosses{line})
	x.mark(p)
	p.Y.Min, p.Y.Max = 0, roundTop(most, 6)
	f.Readings = trialReadings(s.Trials)
	return f
}

// drawEstimate draws a point's median across a panel, and its interval as a
// band, and returns what the legend says of them.
func drawEstimate(p *plot.Plot, point Point) []Entry {
	estimate, bounded := point.Estimate()
	level := func(y float64) plotter.XYs { return plotter.XYs{{X: p.X.Min, Y: y}, {X: p.X.Max, Y: y}} }
	middle := stroke(blue, 2.4)
	entries := []Entry{{Name: "median: " + estimate.String(), Line: middle}}
	if bounded {
		band := stroke(blue, 1, 4, 3)
		polyline(p, band, level(estimate.Low))
		polyline(p, band, level(estimate.High))
		entries = append(entries, Entry{Name: "its interval", Line: band})
	}
	polyline(p, middle, level(estimate.Median))
	return entries
}
