package plots

import (
	"slices"

	"kvlab/metrics"
)

// isSoak reports whether the run looked at what its processes held.
func (r *Run) isSoak() bool {
	return slices.ContainsFunc(r.Nodes, func(node metrics.RunNode) bool { return node.Soak != nil })
}

// SoakFigure shows what each node's process held over time: its resident memory,
// its goroutines and its open descriptors, in three panels. All begin at zero, so
// that what is flat looks flat.
func SoakFigure(r *Run) Figure {
	f := runFigure(r, "soak", "What each process held over time")
	var shown []readable
	for _, panel := range []struct {
		unit, format string
		of           func(metrics.ProcessUsage) float64
	}{
		{"memory (MB)", "%.1f MB", func(p metrics.ProcessUsage) float64 { return float64(p.RSSBytes) / mega }},
		{"goroutines", "%.0f goroutines", func(p metrics.ProcessUsage) float64 { return float64(p.Goroutines) }},
		{"descriptors", "%.0f descriptors", func(p metrics.ProcessUsage) float64 { return float64(p.OpenFiles) }},
	} {
		held := usages(r, func(u metrics.Usage) (float64, bool) { return panel.of(u.Process), true })
		lines := linesOf(held)
		f.Legend = legendOf(held)
		f.Panels = append(f.Panels, timePanel(r, lines, panel.unit, topOf(r, lines)))
		shown = append(shown, readable{series: held, write: inUnit(panel.format)})
	}
	f.Readings = timeReadings(r, shown...)
	for _, above := range f.Panels[:len(f.Panels)-1] {
		above.X.Label.Text = ""
	}
	return f
}
