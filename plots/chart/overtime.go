// Package chart makes the figures of a run or a sweep: throughput, usage, latency,
// scaling. A figure of a run that is not valid says so.
package chart

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// Figures returns every figure of one run, in the report's order.
func Figures(r *folder.Run) []figure.Figure {
	received, sent := folder.Received(r), folder.Sent(r)
	busiest := max(highest(r, received), highest(r, sent))
	gbps := unit("%.3f Gb/s")
	figures := []figure.Figure{
		throughputFigure(r),
		LatencyFigure(r),
		overTime(r, "cpu", "CPU usage over time", quantity{label: "CPU, all cores together (%)", series: folder.CPU(r), top: 100, text: unit("%.1f %%")}),
		overTime(r, "network", "Network traffic over time, data interface",
			quantity{label: "received (Gb/s)", series: received, top: busiest, text: gbps}, quantity{label: "sent (Gb/s)", series: sent, top: busiest, text: gbps}),
		overTime(r, "memory", "Memory in use over time", quantity{label: "memory in use (GiB)", series: folder.Memory(r), text: unit("%.2f GiB")}),
	}
	if r.IsSoak() {
		figures = append(figures, soakFigure(r))
	}
	return figures
}

// throughputFigure shows each client's operations per second over time, and the
// total of several.
func throughputFigure(r *folder.Run) figure.Figure {
	q := quantity{label: "operations per second", series: folder.Throughput(r), text: func(y float64) string { return format.Count(y) + " ops/s" }}
	if len(q.series) > 1 {
		q.total = folder.TotalThroughput(r)
	}
	f := overTime(r, "throughput", "Throughput over time", q)
	if q.total != nil {
		f.Legend = append([]figure.Group{{Name: "total", Entries: []figure.Entry{{Name: "all clients", Line: totalStyle}}}}, f.Legend...)
	}
	return f
}

// soakFigure shows what each node's process held over time. All axes begin at
// zero, so that what is flat looks flat.
func soakFigure(r *folder.Run) figure.Figure {
	held := func(label, verb string, of func(metrics.ProcessUsage) float64) quantity {
		series := folder.Usages(r, func(u metrics.Usage) (float64, bool) { return of(u.Process), true })
		return quantity{label: label, series: series, text: unit(verb)}
	}
	return overTime(r, "soak", "What each process held over time",
		held("memory (MB)", "%.1f MB", func(p metrics.ProcessUsage) float64 { return float64(p.RSSBytes) / 1e6 }),
		held("goroutines", "%.0f goroutines", func(p metrics.ProcessUsage) float64 { return float64(p.Goroutines) }),
		held("descriptors", "%.0f descriptors", func(p metrics.ProcessUsage) float64 { return float64(p.OpenFiles) }))
}

// unit writes numbers by a format.
func unit(verb string) func(float64) string {
	return func(y float64) string { return fmt.Sprintf(verb, y) }
}

// quantity is what one panel shows over time.
type quantity struct {
	label  string // of the y axis
	series []folder.Series
	total  plotter.XYs            // of all nodes together; nil for none
	top    float64                // upper end of the y axis; 0 for a little above the data
	text   func(y float64) string // writes a value with its unit
}

// totalStyle is the style of the total of all nodes.
var totalStyle = figure.Stroke(figure.Ink, 2.6)

// overTime is a figure with a panel for each quantity, one below the other.
func overTime(r *folder.Run, name, title string, panels ...quantity) figure.Figure {
	f := runFigure(r, name, title)
	f.Legend = legendOf(panels[0].series)
	for i, q := range panels {
		p := timePanel(r, q)
		if i+1 < len(panels) {
			p.X.Label.Text = ""
		}
		f.Panels = append(f.Panels, p)
	}
	return f
}

// runFigure is a figure of a run without panels.
func runFigure(r *folder.Run, name, title string) figure.Figure {
	f := figure.Figure{Name: name, Title: title, Subtitle: r.Describe()}
	if !r.Verdict.Valid {
		f.Alarm = "INVALID: " + format.Label(folder.InvalidReason(r.Verdict), 300)
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
	step := r.Step()
	if step > 1 {
		p.X.Label.Text += fmt.Sprintf(", means of about %g s", step)
	}
	p.X.Min, p.X.Max = r.WorkSpan()
	p.X.Tick.Marker, p.Y.Tick.Marker = figure.FineTicks(format.Shortest), figure.Ticks(format.Count)
	p.Place, p.Reach = func(x float64) string { return format.Tenths(x) + " s" }, step
	drawn := 0
	add := func(name string, points plotter.XYs, style draw.LineStyle) {
		points = within(points, p.X)
		drawn += len(points)
		p.Line(style, points)
		p.Tooltip(name, points, func(i int) string { return q.text(points[i].Y) })
	}
	for i, style := range styles(q.series) {
		add(format.Label(q.series[i].Node, 40), q.series[i].Points, style)
	}
	if q.total != nil {
		add("all clients", q.total, totalStyle)
	}
	var spans []figure.Span
	for phase, span := range r.Phases() {
		spans = append(spans, figure.Span{Name: phaseNames[phase], Start: span.Start, End: span.End, Marked: phase == metrics.Window})
	}
	p.Spans(spans)
	if drawn == 0 {
		p.Notice("nothing was recorded")
	}
	p.Y.Min, p.Y.Max = 0, q.top
	if q.top == 0 {
		p.Y.Max = figure.Top(max(highest(r, q.series), highest(r, []folder.Series{{Points: q.total}})))
	}
	return p
}

// highest is the largest value of all series while work was done.
func highest(r *folder.Run, all []folder.Series) float64 {
	var x plot.Axis
	x.Min, x.Max = r.WorkSpan()
	top := 0.0
	for _, s := range all {
		for _, point := range within(s.Points, x) {
			top = max(top, point.Y)
		}
	}
	return top
}

// within keeps the points that lie on an axis.
func within(points plotter.XYs, x plot.Axis) (kept plotter.XYs) {
	for _, point := range points {
		if point.X >= x.Min && point.X <= x.Max {
			kept = append(kept, point)
		}
	}
	return kept
}

// styles returns the style of each series. A node has the same style in every
// figure of a run: servers are cool, clients are warm.
func styles(all []folder.Series) []draw.LineStyle {
	nodes, seen := map[metrics.Role]int{}, map[metrics.Role]int{}
	for _, s := range all {
		nodes[s.Role]++
	}
	lines := make([]draw.LineStyle, len(all))
	for i, s := range all {
		family := figure.Warm
		if s.Role == metrics.Server {
			family = figure.Cool
		}
		lines[i] = family.Line(seen[s.Role], nodes[s.Role])
		seen[s.Role]++
	}
	return lines
}

// legendOf returns one group for each role.
func legendOf(all []folder.Series) []figure.Group {
	var groups []figure.Group
	lines := styles(all)
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		group := figure.Group{Name: string(role) + "s"}
		for i, s := range all {
			if s.Role == role {
				group.Entries = append(group.Entries, figure.Entry{Name: format.Label(s.Node, 24), Line: lines[i]})
			}
		}
		if len(group.Entries) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}
