package report

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// Report is a run as one HTML page, with its figures and its data.
func Report(r *folder.Run) ([]byte, error) {
	p := page{
		Kind: "run", ID: r.ID,
		Verdict: r.Verdict.String(), Good: r.Verdict.Valid,
		Headline: folder.ResultOf(r.Run),
		What:     "No window was common to all clients, so there is no result.",
		Run:      r,
	}
	if r.WindowS > 0 {
		p.Interval = "One run is one sample and has no interval; run-cluster.sh --trials 6 gives one."
		work := strings.TrimPrefix(folder.DescribeWork(r.Workload)+" on "+folder.DescribeTopology(r.Run), " on ")
		p.What = fmt.Sprintf("%s: %s verified operations in a window of %s s.", sentence(work), grouped(r.Ops), format.Tenths(r.WindowS))
	}
	over := runFigures(r)
	p.Sections = append([]section{
		{ID: "method", Title: "How it was measured", Run: r},
		{ID: "throughput", Title: "Throughput", Run: r, Figures: named(over, "throughput")},
	}, resourceSections(r, over)...)
	p.Sections = append(p.Sections,
		section{ID: "configuration", Title: "Configuration", Run: r},
		hardwareSection(r.Nodes),
		section{ID: "reproduce", Brief: true, Title: "Reproduce", Run: r},
		section{ID: "raw", Brief: true, Title: "Raw data", Files: []rawFile{{"run.json", r.Run}}})
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

// resourceSections are a run's latency, what its nodes used, and what limited it.
func resourceSections(r *folder.Run, over []figure.Figure) []section {
	all := []section{latencySection(r, over), usageSection(r, over)}
	if r.Bottleneck != nil {
		all = append(all, section{ID: "bottleneck", Brief: true, Title: "Bottleneck", Run: r})
	}
	if r.Ceiling != nil {
		all = append(all, section{ID: "ceiling", Brief: true, Title: "Ceiling", Run: r})
	}
	if r.Skew != nil {
		all = append(all, section{ID: "skew", Title: "Skew", Run: r})
	}
	return all
}

// runFigures are the figures of a run; none if its nodes recorded nothing.
func runFigures(r *folder.Run) []figure.Figure {
	if len(r.Logs) == 0 {
		return nil
	}
	return chart.Figures(r)
}

// latencySection is a run's latencies as a table and by percentile.
func latencySection(r *folder.Run, over []figure.Figure) section {
	t := latencyTable(r.Run)
	if len(t.Rows) == 0 && !r.HasLatencies() {
		return section{}
	}
	t.Caption = "In the window"
	s := section{ID: "latency", Title: "Latency", Run: r, Tables: []table{t}, Figures: named(over, "latency")}
	for _, note := range latencyNotes(r.Run) {
		s.Notes = append(s.Notes, sentence(note)+".")
	}
	return s
}

// usageSection is what each node used, as a table and over time.
func usageSection(r *folder.Run, over []figure.Figure) section {
	t := nodeTable(r.Run)
	t.Caption = "In the window, average and peak"
	return section{ID: "usage", Title: "Usage per node", Run: r, Tables: []table{t}, Figures: named(over, "cpu", "network", "memory", "soak")}
}
