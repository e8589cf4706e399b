package report

import (
	"cmp"
	"fmt"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/chart"
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
		p.What = fmt.Sprintf("%s: %s verified operations in a window of %s s.", sentence(describe(r)), grouped(r.Ops), format.Tenths(r.WindowS))
	}
	over, err := runFigures(r)
	if err != nil {
		return nil, err
	}
	p.Sections = append([]section{measurementSection(r), throughputSection(r, over)}, resourceSections(r, over)...)
	p.Sections = append(p.Sections,
		section{ID: "configuration", Title: "Configuration", Settings: settings(r)},
		hardwareSection(r.Nodes),
		section{ID: "reproduce", Brief: true, Title: "Reproduce", Commands: reproduceRun(r)},
		section{ID: "raw", Brief: true, Title: "Raw data", Files: []rawFile{{"run.json", r.Run}}})
	return p.render()
}

// describe is a run's work and nodes.
func describe(r *folder.Run) string {
	return strings.TrimPrefix(folder.DescribeWork(r.Workload)+" on "+folder.DescribeTopology(r.Run), " on ")
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
func resourceSections(r *folder.Run, over drawings) []section {
	return []section{latencySection(r, over), usageSection(r, over), bottleneckSection(r.Bottleneck), ceilingSection(r), skewSection(r.Skew)}
}

// runFigures are the figures of a run; none if its nodes recorded nothing.
func runFigures(r *folder.Run) (drawings, error) {
	if len(r.Logs) == 0 {
		return nil, nil
	}
	return drawAll(chart.Figures(r))
}
