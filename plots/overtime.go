package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// ThroughputFigure shows each client's operations per second over time, and
// the total of several.
func ThroughputFigure(r *Run) Figure {
	f := runFigure(r, "throughput", "Throughput over time")
	clients := Throughput(r)
	lines := linesOf(clients)
	if len(clients) > 1 {
		total := line{TotalThroughput(r), stroke(ink, 2.6)}
		lines = append(lines, total)
		f.Legend = append(f.Legend, Group{"total", []Entry{{Name: "all clients", Line: total.style}}})
	}
	f.Legend = append(f.Legend, legendOf(clients)...)
	f.Panels = []*plot.Plot{timePanel(r, lines, "operations per second", topOf(r, lines))}
	shown := readable{series: clients, write: func(y float64) string { return format.Count(y) + " ops/s" }}
	if len(clients) > 1 {
		shown.total = TotalThroughput(r)
	}
	f.Readings = timeReadings(r, shown)
	return f
}

// CPUFigure shows each node's processor usage over time.
func CPUFigure(r *Run) Figure {
	f := runFigure(r, "cpu", "CPU usage over time")
	nodes := CPU(r)
	f.Legend = legendOf(nodes)
	f.Panels = []*plot.Plot{timePanel(r, linesOf(nodes), "CPU, all cores together (%)", 100)}
	f.Readings = timeReadings(r, readable{series: nodes, write: inUnit("%.1f %%")})
	return f
}

// MemoryFigure shows each machine's used memory over time.
func MemoryFigure(r *Run) Figure {
	f := runFigure(r, "memory", "Memory in use over time")
	nodes := Memory(r)
	f.Legend = legendOf(nodes)
	f.Panels = []*plot.Plot{timePanel(r, linesOf(nodes), "memory in use (GiB)", topOf(r, linesOf(nodes)))}
	f.Readings = timeReadings(r, readable{series: nodes, write: inUnit("%.2f GiB")})
	return f
}

// NetworkFigure shows what each node's data interface received and sent over
// time, in two panels with one scale.
func NetworkFigure(r *Run) Figure {
	f := runFigure(r, "network", "Network traffic over time, data interface")
	received, sent := linesOf(Received(r)), linesOf(Sent(r))
	f.Legend = legendOf(Received(r))
	top := max(topOf(r, received), topOf(r, sent))
	rx, tx := timePanel(r, received, "received (Gb/s)", top), timePanel(r, sent, "sent (Gb/s)", top)
	rx.X.Label.Text = ""
	f.Panels = []*plot.Plot{rx, tx}
	f.Readings = timeReadings(r, readable{series: Received(r), what: "received by ", write: inUnit("%.3f Gb/s")},
		readable{series: Sent(r), what: "sent by ", write: inUnit("%.3f Gb/s")})
	return f
}

// inUnit writes numbers by a format.
func inUnit(format string) func(float64) string {
	return func(y float64) string { return fmt.Sprintf(format, y) }
}

// line is a series with a look.
type line struct {
	points plotter.XYs
	style  draw.LineStyle
}

// linesOf gives each series the look of its node.
func linesOf(all []Series) []line {
	lines := make([]line, len(all))
	for i, style := range styles(all) {
		lines[i] = line{all[i].Points, style}
	}
	return lines
}

// timePanel draws lines from zero to top over the time in which work was done,
// and marks the window.
func timePanel(r *Run, lines []line, y string, top float64) *plot.Plot {
	p := newPanel("seconds after the window's start", y)
	if r.WindowStart.IsZero() {
		p.X.Label.Text = "seconds after the first record"
	}
	if step := r.step(r.Logs); step > 1 {
		p.X.Label.Text += fmt.Sprintf(", means of about %g s", step)
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{14, shortest}, ticks{5, format.Count}
	start, end := workSpan(r)
	drawn := 0
	for _, l := range lines {
		points := within(l.points, start, end)
		drawn += len(points)
		polyline(p, l.style, points)
	}
	p.Add(windowMark{Phases(r)})
	if drawn == 0 {
		p.Add(notice("nothing was recorded"))
	}
	p.X.Min, p.X.Max = start, end
	p.Y.Min, p.Y.Max = 0, top
	return p
}

// topOf is a round value above all that lines show.
func topOf(r *Run, lines []line) float64 {
	start, end := workSpan(r)
	top := 0.0
	for _, l := range lines {
		for _, point := range within(l.points, start, end) {
			top = max(top, point.Y)
		}
	}
	return roundTop(top, 5)
}

// styles returns each series' line style: the same node, the same style, in
// every figure of a run.
func styles(all []Series) []draw.LineStyle {
	nodes := map[metrics.Role]int{}
	for _, s := range all {
		nodes[s.Role]++
	}
	seen := map[metrics.Role]int{}
	lines := make([]draw.LineStyle, len(all))
	for i, s := range all {
		lines[i] = nodeStyle(s.Role, seen[s.Role], nodes[s.Role])
		seen[s.Role]++
	}
	return lines
}

// legendOf returns one group per role.
func legendOf(all []Series) []Group {
	var groups []Group
	lines := styles(all)
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		group := Group{Name: string(role) + "s"}
		for i, s := range all {
			if s.Role == role {
				group.Entries = append(group.Entries, Entry{Name: label(s.Node, 24), Line: lines[i]})
			}
		}
		if len(group.Entries) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// workSpan is the time from the first to the last interval in which a client
// did an operation, and the window; one second when there was neither.
func workSpan(r *Run) (start, end float64) {
	start, end = math.Inf(1), math.Inf(-1)
	if window, ok := Phases(r)[metrics.Window]; ok {
		start, end = window.Start, window.End
	}
	for _, log := range r.logs(metrics.Client) {
		for _, i := range log.Intervals {
			if at := r.seconds(i.Time); i.Value.Counts.Ops() > 0 {
				start, end = min(start, at-i.Value.LengthS), max(end, at)
			}
		}
	}
	if start >= end {
		return 0, 1
	}
	return start, end
}

// within keeps the points of a series that lie in [start, end].
func within(points plotter.XYs, start, end float64) plotter.XYs {
	var kept plotter.XYs
	for _, point := range points {
		if point.X >= start && point.X <= end {
			kept = append(kept, point)
		}
	}
	return kept
}
