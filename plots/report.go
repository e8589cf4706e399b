package plots

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"kvlab/metrics"
)

//go:embed report.html sweep.html style.css hardware.html
var layoutFiles embed.FS

// page is what the report's template shows.
type page struct {
	Run          *Run
	Verdict      string
	Headline     string
	Nodes        string
	Ops          string
	Window       string
	Settings     []setting
	NodeRows     []nodeRow
	Loop         string
	LatencyRows  []latencyRow
	LatencyNotes []string
	Accounts     []accountRow
	Disagree     []accountRow
	Pairs        int
	Verification []verifyRow
	Hardware     []hardwareRow
	Pictures     []picture
}

// setting is one line of the settings table.
type setting struct{ Name, Value string }

// verifyRow is what one client checked.
type verifyRow struct {
	Node  string
	Found metrics.Verification
}

// hardwareRow is the machine of one node or several alike.
type hardwareRow struct {
	Nodes  []string
	Memory string
	metrics.Host
	Binary string
}

// picture is one figure inside the page.
type picture struct {
	Title string
	SVG   template.HTML
}

// Report is the whole run as one HTML page that needs nothing else: no script,
// no style sheet, no network. Everything that came from a node is escaped.
func Report(r *Run) ([]byte, error) {
	p := pageOf(r)
	var err error
	if p.Pictures, err = pictures(Figures(r)); err != nil {
		return nil, err
	}
	return layOut("report.html", p)
}

// pictures are figures as a page has them.
func pictures(figures []Figure) ([]picture, error) {
	var all []picture
	for _, f := range figures {
		svg, err := f.SVG()
		if err != nil {
			return nil, err
		}
		all = append(all, picture{f.Title, inline(svg)})
	}
	return all, nil
}

// layOut writes a page by its layout's file.
func layOut(layout string, page any) ([]byte, error) {
	all, err := template.New(layout).Funcs(template.FuncMap{"grouped": grouped}).ParseFS(layoutFiles, "style.css", "hardware.html", layout)
	if err != nil {
		return nil, fmt.Errorf("parse the report's template: %w", err)
	}
	var out bytes.Buffer
	if err := all.ExecuteTemplate(&out, layout, page); err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	return bytes.Map(printable, out.Bytes()), nil
}

// printable replaces what no document may hold: control characters but line
// feed and tab, which escaping leaves as they are.
func printable(c rune) rune {
	if c != '\n' && c != '\t' && (unicode.IsControl(c) || c == unicode.ReplacementChar) {
		return '?'
	}
	return c
}

// inline drops what stands before an SVG's root element. The renderer has
// escaped every text in it.
func inline(svg []byte) template.HTML {
	return template.HTML(svg[max(0, bytes.Index(svg, []byte("<svg"))):])
}

// pageOf collects the report's words and numbers.
func pageOf(r *Run) page {
	p := page{
		Run:          r,
		Verdict:      r.Verdict.String(),
		Headline:     resultOf(r.Run),
		Nodes:        describeTopology(r.Run),
		Ops:          grouped(r.Ops),
		Window:       tenths(r.WindowS),
		Settings:     settings(r),
		NodeRows:     nodeRows(r.Run),
		Loop:         metrics.LoopText(r.Offered, r.Ops),
		LatencyRows:  latencyRows(r.Run),
		LatencyNotes: latencyNotes(r.Run),
		Accounts:     accounts(r.Run),
		Hardware:     hardware(r.Nodes),
	}
	p.Disagree, p.Pairs = disagreements(r.Run)
	for _, node := range r.Nodes {
		if node.Role == metrics.Client && node.Summary != nil {
			p.Verification = append(p.Verification, verifyRow{node.Name, node.Summary.Verification})
		}
	}
	return p
}

// settings are what makes the run repeatable: the work's flags in order of
// name, then how it was started. What is empty is left out.
func settings(r *Run) []setting {
	var all []setting
	add := func(name, value string) {
		if value != "" {
			all = append(all, setting{name, value})
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(r.Workload)) {
		add("-"+flag, r.Workload[flag])
	}
	add("command", strings.Join(r.Command, " "))
	add("git commit", r.GitCommit)
	if r.Seed != 0 {
		add("run seed", fmt.Sprint(r.Seed))
	}
	if !r.Started.IsZero() {
		add("started", r.Started.UTC().Format(time.DateTime+" UTC"))
	}
	if !r.Ended.IsZero() {
		add("ended", r.Ended.UTC().Format(time.DateTime+" UTC"))
	}
	if r.WindowS > 0 {
		add("window", fmt.Sprintf("%.3f s common to all clients, %.1f %% of the shortest one's", r.WindowS, 100*r.OverlapShare))
	}
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		add(string(role)+"s' interface", r.Usage[role].DataInterface)
	}
	return all
}

// hardware lists the nodes' machines, those that are alike in one row.
func hardware(nodes []metrics.RunNode) []hardwareRow {
	var rows []hardwareRow
	place := map[metrics.Host]map[string]int{}
	for _, node := range nodes {
		if node.Config == nil {
			continue
		}
		kind := node.Config.Host
		kind.Hostname = ""
		if place[kind] == nil {
			place[kind] = map[string]int{}
		}
		i, seen := place[kind][node.Config.Binary]
		if !seen {
			i = len(rows)
			place[kind][node.Config.Binary] = i
			rows = append(rows, hardwareRow{Host: kind, Binary: node.Config.Binary,
				Memory: fmt.Sprintf("%.1f GiB", float64(kind.MemoryTotalBytes)/gibibyte)})
		}
		rows[i].Nodes = append(rows[i].Nodes, fmt.Sprintf("%s (%s)", node.Name, node.Config.Host.Hostname))
	}
	return rows
}

// grouped writes all digits of n, in groups of three.
func grouped(n uint64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
