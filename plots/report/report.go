package report

import (
	"cmp"
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
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
		Warnings: warnings(r),
	}
	if r.WindowS > 0 {
		p.Interval = "One run is one sample and has no interval; run-cluster.sh --trials 6 gives one."
		work := strings.TrimPrefix(folder.DescribeWork(r.Workload)+" on "+folder.DescribeTopology(r.Run), " on ")
		p.What = fmt.Sprintf("%s: %s verified operations in a window of %s s.", sentence(work), grouped(r.Ops), format.Tenths(r.WindowS))
	}
	over := runFigures(r)
	p.Sections = append([]section{measurementSection(r), throughputSection(r, over)}, resourceSections(r, over)...)
	p.Sections = append(p.Sections,
		section{ID: "configuration", Title: "Configuration", Settings: settings(r)},
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

// warnings weaken a run's result, each in a sentence.
func warnings(r *folder.Run) []string {
	var all []string
	if len(r.Missing) > 0 {
		all = append(all, "This run folder is incomplete. Missing: "+strings.Join(r.Missing, "; ")+".")
	}
	if r.Ceiling != nil && r.Ceiling.ClientBound {
		all = append(all, r.Ceiling.String()+".")
	}
	if r.WarmUp != nil && !r.WarmUp.Stationary {
		all = append(all, r.WarmUp.String()+".")
	}
	return append(all, placeWarnings(r)...)
}

// placeWarnings say that a run was not on a cluster.
func placeWarnings(r *folder.Run) []string {
	switch {
	case r.Lab != nil:
		return []string{sentence(r.Lab.String()) + ": not a cluster's number."}
	case oneMachine(r.Nodes):
		return []string{"Servers and clients shared one machine, its cores and its loopback interface: not a cluster's number."}
	}
	return nil
}

// oneMachine reports whether all of several nodes say that they were on the same
// machine.
func oneMachine(nodes []metrics.RunNode) bool {
	name := ""
	for _, node := range nodes {
		if node.Config == nil || node.Config.Host.Hostname == "" || node.Config.Host.Hostname != cmp.Or(name, node.Config.Host.Hostname) {
			return false
		}
		name = node.Config.Host.Hostname
	}
	return len(nodes) > 1
}

// resourceSections are a run's latency, what its nodes used, and what limited it.
func resourceSections(r *folder.Run, over []figure.Figure) []section {
	all := []section{latencySection(r, over), usageSection(r, over)}
	if b := r.Bottleneck; b != nil {
		s := section{ID: "bottleneck", Brief: true, Title: "Bottleneck", Lead: []string{sentence(b.Sentence) + "."}}
		if b.Figures != (metrics.BottleneckFigures{}) {
			s.Run = r
		}
		all = append(all, s)
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

// throughputSection is a run's throughput: the result, each node's, and over time.
func throughputSection(r *folder.Run, over []figure.Figure) section {
	s := section{ID: "throughput", Title: "Throughput", Run: r, Figures: named(over, "throughput")}
	if r.WindowS > 0 {
		s.Lead = []string{fmt.Sprintf("%s: %s verified operations in %.3f s, %s.", folder.ResultOf(r.Run), grouped(r.Ops), r.WindowS, metrics.LoopText(r.Offered, r.Ops))}
	}
	return s
}

// latencySection is a run's latencies as a table and by percentile.
func latencySection(r *folder.Run, over []figure.Figure) section {
	t := latencyTable(r.Run)
	if len(t.Rows) == 0 && !r.HasLatencies() {
		return section{}
	}
	t.Caption = "In the window"
	s := section{ID: "latency", Title: "Latency", Lead: []string{sentence(metrics.LoopText(r.Offered, r.Ops)) + "."}, Tables: []table{t}, Figures: named(over, "latency")}
	for _, note := range latencyNotes(r.Run) {
		s.Notes = append(s.Notes, sentence(note)+".")
	}
	return s
}

// usageSection is what each node used, as a table and over time.
func usageSection(r *folder.Run, over []figure.Figure) section {
	t := nodeTable(r.Run)
	t.Caption = "In the window, average and peak"
	s := section{ID: "usage", Title: "Usage per node", Tables: []table{t}, Figures: named(over, "cpu", "network", "memory", "soak")}
	for _, node := range r.Nodes {
		if node.Soak != nil {
			s.List = append(s.List, fmt.Sprintf("%s %s: %s.", node.Role, node.Name, node.Soak))
		}
	}
	return s
}

// skewLines are the shares that the servers observed, with theory's in brackets, in
// at most three lines.
func skewLines(s *metrics.Skew) []string {
	if s == nil {
		return nil
	}
	var kinds []string
	for _, k := range s.Kinds {
		if k.Theory > 0 || k.Observed > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %s", bracketed(k.Share), k.Kind))
		}
	}
	lines := []string{fmt.Sprintf("the servers saw (in theory): %s; %.4g %% of the reads hit", strings.Join(kinds, ", "), 100*s.HitRate)}
	if len(s.Head) > 0 {
		lines = append(lines, fmt.Sprintf("  the most popular record %s, the first %d %s, of %s operations sampled",
			bracketed(s.Head[0].Share), len(s.Head), bracketed(s.HeadTotal()), format.Count(float64(s.SampledOps))))
	}
	if n := len(s.Servers); n > 1 {
		most, balance := s.Busiest(), s.Balance()
		lines = append(lines, fmt.Sprintf("  the busiest server, %s, %s; balance %.3f (%.3f), and %.3f at best with %d servers",
			format.Label(most.Server, 32), bracketed(most.Share), balance.Observed, balance.Theory, stats.BestBalance(n, s.TopShare), n))
	}
	return lines
}

// bracketed writes a share as it was observed and, in brackets, in theory.
func bracketed(s metrics.Share) string {
	return fmt.Sprintf("%.2f %% (%.2f %%)", 100*s.Observed, 100*s.Theory)
}
