package report

import (
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// Report is a run as one HTML page, with its figures and its data.
func Report(r *folder.Run) ([]byte, error) {
	p := page{Kind: "run", ID: r.ID, Verdict: r.Verdict.String(), Good: r.Verdict.Valid, Headline: folder.ResultOf(r.Run), Run: r}
	p.Sections = slices.Concat([]section{{ID: "method", Title: "How it was measured", Run: r}}, runSections(r), setupSections(r, nil, rawFile{"run.json", r.Run}))
	return p.render()
}

// sentence begins with a capital letter.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// oneMachine reports whether all of several nodes say that they were on the same
// machine.
func oneMachine(nodes []metrics.RunNode) bool {
	return len(nodes) > 1 && !slices.ContainsFunc(nodes, func(node metrics.RunNode) bool {
		return node.Config == nil || node.Config.Host.Hostname == "" || node.Config.Host.Hostname != nodes[0].Config.Host.Hostname
	})
}

// runSections are a run's throughput and latency, what its nodes used, and what
// limited it.
func runSections(r *folder.Run) []section {
	var over []figure.Figure // none if its nodes recorded nothing
	if len(r.Logs) > 0 {
		over = chart.Figures(r)
	}
	return []section{
		{ID: "throughput", Title: "Throughput", Run: r, Figures: named(over, "throughput")},
		{ID: "latency", Title: "Latency", Run: r, Figures: named(over, "latency"), Absent: len(latencyTable(r.Run).Rows) == 0 && !r.HasLatencies()},
		{ID: "usage", Title: "Usage per node", Run: r, Figures: named(over, "cpu", "network", "memory", "soak")},
		{ID: "bottleneck", Brief: true, Title: "Bottleneck", Run: r, Absent: r.Bottleneck == nil},
		{ID: "ceiling", Brief: true, Title: "Ceiling", Run: r, Absent: r.Ceiling == nil},
		{ID: "skew", Title: "Skew", Run: r, Absent: r.Skew == nil},
	}
}

// setupSections say with what a run or a sweep was made, and how to make it again. Of
// a sweep, r is the trial that is shown; nil for none.
func setupSections(r *folder.Run, s *folder.Sweep, files ...rawFile) []section {
	return []section{
		{ID: "configuration", Title: "Configuration", Run: r, Trials: s},
		{ID: "hardware", Brief: true, Title: "Hardware", Run: r, Absent: r == nil || len(folder.Hardware(r.Nodes)) == 0},
		{ID: "reproduce", Brief: true, Title: "Reproduce", Run: r, Trials: s},
		{ID: "raw", Brief: true, Title: "Raw data", Files: files},
	}
}
