package plots

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
)

// Scale is how throughput grows with the number of nodes.
type Scale struct {
	Runs    plotter.XYs // one point per valid run: nodes, ops/s
	Medians plotter.XYs // one per number of nodes, in their order
	Ideal   plotter.XYs // linear from the smallest median, at the same numbers of nodes
	LeftOut []string    // the runs that are not valid, each with its reason
	Differ  []string    // flags in which the valid runs differ, besides the seed
}

// ScaleOf sorts runs into data and what is not data: a run that is not valid
// never becomes a point.
func ScaleOf(runs []*Run) Scale {
	var scale Scale
	byNodes := map[int][]float64{}
	var valid []*Run
	for _, r := range runs {
		if !r.Verdict.Valid {
			scale.LeftOut = append(scale.LeftOut, label(fmt.Sprintf("%s: %s", r.ID, r.Verdict), 300))
			continue
		}
		valid = append(valid, r)
		byNodes[r.Machines()] = append(byNodes[r.Machines()], r.OpsPerS)
		scale.Runs = append(scale.Runs, plotter.XY{X: float64(r.Machines()), Y: r.OpsPerS})
	}
	for _, nodes := range slices.Sorted(maps.Keys(byNodes)) {
		scale.Medians = append(scale.Medians, plotter.XY{X: float64(nodes), Y: metrics.Median(byNodes[nodes])})
	}
	for _, m := range scale.Medians {
		least := scale.Medians[0]
		scale.Ideal = append(scale.Ideal, plotter.XY{X: m.X, Y: least.Y / least.X * m.X})
	}
	scale.Differ = differences(valid)
	return scale
}

// differences names the flags that are not the same in all runs. Seeds
// should differ between trials, and do not count.
func differences(runs []*Run) []string {
	values := map[string]map[string]bool{}
	for _, r := range runs {
		for flag := range r.Workload {
			values[flag] = map[string]bool{}
		}
	}
	delete(values, "seed")
	for _, r := range runs {
		for flag, seen := range values {
			seen[r.Workload[flag]] = true
		}
	}
	var differ []string
	for flag, seen := range values {
		if len(seen) > 1 {
			differ = append(differ, "-"+flag)
		}
	}
	if slices.ContainsFunc(runs, func(r *Run) bool { return r.Symmetric != runs[0].Symmetric }) {
		differ = append(differ, "--symmetric")
	}
	slices.Sort(differ)
	return differ
}

// ScalingFigure shows throughput against the number of nodes, every valid run
// a dot, their medians a line, with the ideal beside it. It needs one valid run.
func ScalingFigure(runs []*Run) Figure {
	scale := ScaleOf(runs)
	f := Figure{Name: "throughput_scaling", Title: "Throughput by number of nodes", Subtitle: describeScale(runs, scale)}
	p := newPanel("nodes (servers + clients)", "operations per second")
	ideal, medians := stroke(grey, 1.8, 7, 4), stroke(blue, 2.4)
	dots := draw.GlyphStyle{Color: vermillion, Radius: 3.6, Shape: draw.CircleGlyph{}}
	if len(scale.Medians) == 0 {
		p.Add(notice("no valid run"))
		f.Panels = []*plot.Plot{p}
		return f
	}
	most := scale.Ideal[len(scale.Ideal)-1]
	polyline(p, ideal, append(plotter.XYs{{}}, scale.Ideal...))
	polyline(p, medians, scale.Medians)
	p.Add(&plotter.Scatter{XYs: scale.Runs, GlyphStyle: dots}, medianLabels(scale))
	f.Legend = []Group{{Entries: []Entry{
		{Name: fmt.Sprintf("ideal: linear from %s nodes", shortest(scale.Ideal[0].X)), Line: ideal},
		{Name: "median of the valid runs (share of the ideal)", Line: medians},
		{Name: "one run", Glyph: dots},
	}}}
	top := slices.MaxFunc(scale.Runs, func(a, b plotter.XY) int { return cmp.Compare(a.Y, b.Y) }).Y
	p.X.Min, p.X.Max = 0, most.X*1.13
	p.Y.Min, p.Y.Max = 0, roundTop(max(top, most.Y), 6)
	p.X.Tick.Marker, p.Y.Tick.Marker = nodeTicks(scale.Medians), ticks{6, metrics.Count}
	f.Panels = []*plot.Plot{p}
	return f
}

// describeScale says in one line what the figure compares.
func describeScale(runs []*Run, scale Scale) string {
	parts := []string{fmt.Sprintf("%d valid runs", len(scale.Runs))}
	if len(scale.Runs) == 1 {
		parts[0] = "1 valid run"
	}
	if n := len(scale.LeftOut); n > 0 {
		parts[0] += fmt.Sprintf(" (%d not valid, left out)", n)
	}
	for _, r := range runs {
		if work := describeWork(r.Workload); r.Verdict.Valid && work != "" {
			parts = append([]string{work}, parts...)
			break
		}
	}
	if len(scale.Differ) > 0 {
		parts = append(parts, "the runs differ in "+strings.Join(scale.Differ, ", "))
	}
	return label(strings.Join(parts, "  ·  "), 170)
}

// nodeTicks label each number of nodes that was run, as far as there is room.
func nodeTicks(medians plotter.XYs) plot.ConstantTicks {
	marks := plot.ConstantTicks{{Value: 0, Label: "0"}}
	room := medians[len(medians)-1].X / 30
	for _, m := range medians {
		if m.X-marks[len(marks)-1].Value >= room {
			marks = append(marks, plot.Tick{Value: m.X, Label: shortest(m.X)})
		}
	}
	return marks
}

// medianLabels write each median's throughput, and its share of the ideal,
// below it.
type medianLabels Scale

// Plot writes the labels.
func (m medianLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := sans(12.5, blue)
	style.XAlign, style.YAlign = text.XLeft, text.YTop
	for i, median := range m.Medians {
		words := metrics.Count(median.Y)
		if i > 0 && m.Ideal[i].Y > 0 {
			words += fmt.Sprintf(" (%.0f %%)", 100*median.Y/m.Ideal[i].Y)
		}
		c.FillText(style, vg.Point{X: x(median.X) + 7, Y: y(median.Y) - 6}, words)
	}
}
