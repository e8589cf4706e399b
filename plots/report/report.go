package report

import (
	"html/template"
	"regexp"
	"slices"
	"strings"

	"kvlab/kvs/verdict/answer"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
)

// Part is a part of a run's report that an extra makes.
type Part struct {
	ID, Title string
	Body      template.HTML
}

// Report returns a run as one HTML page, with its figures and its data.
func Report(r *folder.Run, parts ...Part) ([]byte, error) {
	var over []figure.Figure // none if its nodes recorded nothing
	if len(r.Logs) > 0 {
		over = chart.Figures(r)
	}
	p := page{Kind: "run", ID: r.ID, Answer: answer.Of(r.Run), Run: r, Lead: named(over, "throughput")}
	var more []section
	for _, part := range parts {
		more = append(more, section{ID: part.ID, Title: part.Title, Run: r, Body: part.Body})
	}
	p.Sections = slices.Concat(runSections(r, over), more, setupSections(r, nil, "", rawFile{"run.json", r.Run}))
	return p.render()
}

// flags match the flags in a text.
var flags = regexp.MustCompile(`(^|[ (])(--?[a-z][a-z-]*)`)

// sentence begins with a capital letter.
func sentence(text string) template.HTML {
	if text == "" {
		return ""
	}
	return unbroken(strings.ToUpper(text[:1]) + text[1:])
}

// unbroken returns a text that a browser breaks neither within a flag nor before a per cent sign.
func unbroken(text string) template.HTML {
	text = template.HTMLEscapeString(text)
	return template.HTML(flags.ReplaceAllString(strings.ReplaceAll(text, " %", "\u00a0%"), `$1<span class="flag">$2</span>`))
}

// runSections returns what limited a run, its latency, what its nodes used, and its
// operations. over are its figures.
func runSections(r *folder.Run, over []figure.Figure) []section {
	return []section{
		{ID: "bottleneck", Brief: true, Title: "What limits it", Run: r, Absent: r.Bottleneck == nil},
		{ID: "ceiling", Brief: true, Title: "Ceiling", Run: r, Absent: r.Ceiling == nil},
		{ID: "latency", Title: "Latency", Run: r, Figures: named(over, "latency"), Absent: len(latencyTable(r.Run).Rows) == 0 && !r.HasLatencies()},
		{ID: "usage", Title: "Usage by role and process", Run: r, Figures: named(over, "cpu", "network", "memory", "soak")},
		{ID: "throughput", Title: "Throughput per node", Run: r},
		{ID: "skew", Title: "Skew", Run: r, Absent: r.Skew == nil},
		{ID: "trace", Title: "The trace", Run: r, Absent: r.Skew == nil || r.Skew.Replay == nil},
	}
}

// setupSections say with what a run or a sweep was made, how to make it again, and how it
// was measured. Of a sweep, r is the trial that is shown, named of; nil for none.
func setupSections(r *folder.Run, s *folder.Sweep, of string, files ...rawFile) []section {
	return []section{
		{ID: "configuration", Title: "Configuration", Run: r, Trials: s},
		{ID: "hardware", Brief: true, Title: "Hardware", Run: r, Absent: r == nil || len(folder.Hardware(r.Nodes)) == 0},
		{ID: "reproduce", Brief: true, Title: "Reproduce", Run: r, Trials: s},
		{ID: "method", Title: "How it was measured", Run: r, Trials: s, Of: of},
		{ID: "raw", Brief: true, Title: "Raw data", Files: files},
	}
}
