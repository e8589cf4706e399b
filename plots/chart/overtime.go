// Package chart makes the figures of a run or a sweep: throughput, usage, latency,
// scaling. A figure of a run that is not valid says so.
package chart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/kvs/verdict/bottleneck"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// Figures returns every figure of one run, in the report's order.
func Figures(r *folder.Run) []figure.Figure {
	busiest := max(highest(seriesOf(r, folder.Received)), highest(seriesOf(r, folder.Sent)))
	figures := []figure.Figure{
		overTime(r, "throughput", "Throughput over time", quantity{of: folder.OpsPerS, label: "operations per second", text: func(y float64) string { return format.Count(y) + " ops/s" }}),
		LatencyFigure(r),
		overTime(r, "cpu", "CPU usage over time", quantity{of: folder.CPU, label: "CPU, all cores together (%)", top: 100, text: unit("%.1f %%")}),
		overTime(r, "network", "Network traffic over time, data interface",
			quantity{of: folder.Received, label: "received (Gb/s)", top: busiest, text: unit("%.3f Gb/s")}, quantity{of: folder.Sent, label: "sent (Gb/s)", top: busiest, text: unit("%.3f Gb/s")}),
		overTime(r, "memory", "Memory in use over time", quantity{of: folder.Memory, label: "memory in use (GiB)", text: unit("%.2f GiB")}),
	}
	if r.HostsClient() { // it tells no latency
		figures = slices.Delete(figures, 1, 2)
	}
	if r.IsSoak() { // all axes begin at zero, so that what is flat looks flat
		figures = append(figures, overTime(r, "soak", "What each process held over time",
			quantity{of: folder.RSS, label: "memory (MB)", text: unit("%.1f MB")},
			quantity{of: folder.Goroutines, label: "goroutines", text: unit("%.0f goroutines")},
			quantity{of: folder.OpenFiles, label: "descriptors", text: unit("%.0f descriptors")}))
	}
	return figures
}

// unit writes numbers by a format.
func unit(verb string) func(float64) string {
	return func(y float64) string { return fmt.Sprintf(verb, y) }
}

// quantity is what one panel shows over time.
type quantity struct {
	of    folder.Quantity
	label string                 // of the y axis
	top   float64                // upper end of the y axis; 0 for a little above the data
	text  func(y float64) string // writes a value with its unit
}

// total is the role of the series of all clients together.
const total metrics.Role = "total"

// seriesOf returns a quantity's series while work was done. The throughput of several
// clients has their total too.
func seriesOf(r *folder.Run, of folder.Quantity) []folder.Series {
	all := r.Series(of)
	if of == folder.OpsPerS && len(all) > 1 && !r.HostsClient() {
		all = append(all, folder.Series{Node: "all clients", Role: total, Points: r.TotalThroughput()})
	}
	start, end := shownSpan(r)
	for i := range all {
		all[i].Points = slices.DeleteFunc(all[i].Points, func(point plotter.XY) bool { return point.X < start || point.X > end })
	}
	return all
}

// shownSpan returns the time in which work was done, without most of a long load: the window
// has at least two thirds of what lies before its end.
func shownSpan(r *folder.Run) (start, end float64) {
	start, end = r.WorkSpan()
	if window, ok := r.Phases()[metrics.Window]; ok {
		start = max(start, window[0]-(window[1]-window[0])/2)
	}
	return start, end
}

// overTime returns a figure with a panel for each quantity, one below the other.
func overTime(r *folder.Run, name, title string, panels ...quantity) figure.Figure {
	f := runFigure(r, name, title)
	_, f.Legend = legendOf(seriesOf(r, panels[0].of))
	if len(r.OtherWork(bottleneck.MuchOther)) > 0 {
		f.Legend = append(f.Legend, figure.Group{Name: "shaded", Entries: []figure.Entry{
			{Name: fmt.Sprintf("other work, %g %% of a machine or more", bottleneck.MuchOther), Brief: "other work", Line: figure.Stroke(figure.Busy, 8)},
		}})
	}
	if r.Stages != nil {
		f.Legend = append(f.Legend, figure.Group{Name: "load", Entries: []figure.Entry{{Name: "a stage of -rate begins", Brief: "stage", Line: stageLine}}})
	}
	if k := r.Restart; k != nil {
		f.Legend = append(f.Legend, figure.Group{Name: "outage", Entries: []figure.Entry{
			{Name: fmt.Sprintf("%s killed, and its first reply", format.Label(k.Server, 24)), Brief: "kill, first reply", Line: outageLine},
		}})
	}
	for i, q := range panels {
		p := timePanel(r, q)
		if i+1 < len(panels) {
			p.X.Label.Text = ""
		}
		p.Below = i > 0
		f.Panels = append(f.Panels, p)
	}
	return f
}

// runFigure returns a figure of a run without panels.
func runFigure(r *folder.Run, name, title string) figure.Figure {
	f := figure.Figure{Name: name, Title: title, Subtitle: r.Describe()}
	if !r.Verdict.Stands() {
		f.Alarm = format.Label(r.Verdict.String(), 300)
	}
	return f
}

// phaseNames are the names of the phases that a figure marks.
var phaseNames = map[metrics.Phase]string{
	metrics.Load: "load", metrics.WarmUp: "warm-up", metrics.Window: "measured window", metrics.Drain: "drain",
}

// timePanel draws a quantity over the time in which work was done, and marks the
// window.
func timePanel(r *folder.Run, q quantity) *figure.Panel {
	p := figure.NewPanel("seconds after the window's start", q.label)
	if r.WindowStart.IsZero() {
		p.X.Label.Text = "seconds after the first record"
	}
	p.Reach = r.Step()
	if p.Reach > 1 {
		p.X.Label.Text += fmt.Sprintf(", means of about %g s", p.Reach)
	}
	p.X.Min, p.X.Max = shownSpan(r)
	p.X.Tick.Marker, p.Y.Tick.Marker = figure.Ticks(format.Shortest), figure.Ticks(format.Count)
	p.Place = func(x float64) string { return format.Tenths(x) + " s" }
	p.Shade(r.OtherWork(bottleneck.MuchOther))
	series := seriesOf(r, q.of)
	styles, _ := legendOf(series)
	for i, style := range styles {
		points := series[i].Points
		p.Line(style, points)
		p.Glyphs(figure.Sparse(style), few(points, i, len(styles)))
		p.Tooltip(format.Label(series[i].Node, 40), points, func(i int) string { return q.text(points[i].Y) })
	}
	var spans []figure.Span
	phases := r.Phases()
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		spans = append(spans, figure.Span{Name: phaseNames[phase], Start: phases[phase][0], End: phases[phase][1], Marked: phase == metrics.Window})
	}
	p.Spans(spans)
	if !slices.ContainsFunc(series, func(s folder.Series) bool { return len(s.Points) > 0 }) {
		notice := "nothing was recorded"
		if servers := r.Servers(); q.of == folder.OpsPerS && r.IsClaimed() && len(servers) > 0 {
			notice = "a team's program: its own lines are in " + metrics.OutputFile(metrics.Server, servers[0].Name)
		}
		p.Notice(notice)
	}
	p.Y.Min, p.Y.Max = 0, q.top
	if q.top == 0 {
		p.Y.Max = figure.Top(highest(series))
	}
	begins := 0.0
	for _, s := range r.Stages {
		p.Line(stageLine, plotter.XYs{{X: begins, Y: 0}, {X: begins, Y: p.Y.Max}})
		begins += s.LengthS
	}
	if k := r.Restart; k != nil {
		for _, at := range []float64{k.AtS, k.AtS + *cmp.Or(k.FirstReplyS, new(0.0))} {
			p.Line(outageLine, plotter.XYs{{X: at, Y: 0}, {X: at, Y: p.Y.Max}})
		}
	}
	return p
}

// few returns some points of the i-th of n lines, others than those of the lines beside it.
func few(points plotter.XYs, i, n int) (some plotter.XYs) {
	marks := 6
	if n > 8 {
		marks = 2
	}
	step := max(1, len(points)/marks)
	for at := step * i / max(1, n); at < len(points); at += step {
		some = append(some, points[at])
	}
	return some
}

// outageLine marks the moments at which a server was killed and replied again.
var outageLine = figure.Stroke(figure.Ink, 1.4, 2, 2)

// stageLine marks the moments at which a stage of -rate begins.
var stageLine = figure.Stroke(figure.Ink, 0.8, 1, 3)

// highest returns the largest value of all series.
func highest(all []folder.Series) float64 {
	top := 0.0
	for _, s := range all {
		for _, point := range s.Points {
			top = max(top, point.Y)
		}
	}
	return top
}

// legendOf returns the style of each series, and one group of the legend for each
// role. A node has the same style in every figure of a run: servers are cool, clients
// are warm.
func legendOf(all []folder.Series) (styles []draw.LineStyle, legend []figure.Group) {
	styles = make([]draw.LineStyle, len(all))
	both := slices.ContainsFunc(all, func(s folder.Series) bool { return s.Role == metrics.Server })
	for _, group := range []struct {
		name string
		role metrics.Role
		line func(i, n int) draw.LineStyle
	}{
		{"total", total, func(int, int) draw.LineStyle { return figure.Stroke(figure.Ink, 2.6) }},
		{"servers", metrics.Server, figure.Cool.Line},
		{"clients", metrics.Client, figure.Warm.Line},
	} {
		var entries []figure.Entry
		n := len(slices.DeleteFunc(slices.Clone(all), func(s folder.Series) bool { return s.Role != group.role }))
		for i, s := range all {
			if s.Role == group.role {
				styles[i] = group.line(len(entries), n)
				entry := figure.Entry{Name: format.Label(s.Node, 24), Line: styles[i], Glyph: figure.Sparse(styles[i])}
				if both {
					entry.Brief = string(s.Role) + " " + entry.Name
				}
				entries = append(entries, entry)
			}
		}
		legend = append(legend, figure.Group{Name: group.name, Entries: entries})
	}
	return styles, legend
}
