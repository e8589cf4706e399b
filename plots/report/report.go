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
	var err error
	if p.Sections, err = resultSections(r); err != nil {
		return nil, err
	}
	run, err := rawOf("run.json", "run.json", r.Run)
	if err != nil {
		return nil, err
	}
	p.Sections = append(p.Sections,
		section{ID: "configuration", Title: "Configuration", Layout: "settings", Data: settings(r)},
		section{ID: "hardware", Brief: true, Title: "Hardware", Layout: "part", Data: hardwarePart(r.Nodes)},
		section{ID: "reproduce", Brief: true, Title: "Reproduce", Layout: "commands", Data: reproduceRun(r)},
		section{ID: "raw", Brief: true, Title: "Raw data", Layout: "raw", Data: []rawFile{run}})
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

// resultSections are the sections of a run's results.
func resultSections(r *folder.Run) ([]section, error) {
	over, err := runFigures(r)
	if err != nil {
		return nil, err
	}
	sections := []section{
		{ID: "method", Title: "How it was measured", Layout: "part", Data: measurementPart(r)},
		{ID: "throughput", Title: "Throughput", Layout: "part", Data: throughputPart(r, over)},
		{ID: "latency", Title: "Latency", Layout: "part", Data: latencyPart(r, over)},
		{ID: "usage", Title: "Usage per node", Layout: "part", Data: usagePart(r, over)},
	}
	return append(sections, limitSections(r)...), nil
}

// limitSections say what limited a run, if that is known.
func limitSections(r *folder.Run) []section {
	var sections []section
	if b := r.Bottleneck; b != nil {
		sections = append(sections, section{ID: "bottleneck", Brief: true, Title: "Bottleneck", Layout: "part", Data: bottleneckPart(*b)})
	}
	if c := r.Ceiling; c != nil {
		sections = append(sections, section{ID: "ceiling", Brief: true, Title: "Ceiling", Layout: "part", Data: ceilingPart(r)})
	}
	if s := r.Skew; s != nil {
		sections = append(sections, section{ID: "skew", Title: "Skew", Layout: "part", Data: skewPart(*s)})
	}
	return sections
}

// runFigures are the figures of a run; none if its nodes recorded nothing.
func runFigures(r *folder.Run) (drawings, error) {
	if len(r.Logs) == 0 {
		return nil, nil
	}
	return drawAll(chart.Figures(r))
}
