// Package report makes one HTML page of a run or a sweep, and its text for a
// terminal. The page needs no other file and runs no script. Text from nodes is
// escaped.
package report

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
	tables "kvlab/plots/table"
)

//go:embed *.html style.css summary.txt
var layoutFiles embed.FS

// words are the functions of the templates.
var words = template.FuncMap{
	"count": format.Count, "grouped": grouped, "milliseconds": format.Milliseconds, "ms": milliseconds, "tenths": format.Tenths,
	"join": strings.Join, "plural": format.Plural[int], "point": metrics.PointName, "sentence": sentence, "unbroken": unbroken, "label": format.Label,
	"command": command, "line": format.CommandLine, "counts": countsOf, "quote": format.QuoteWord, "clean": func(commit string) string { return strings.TrimSuffix(commit, "-dirty") },
	"topology": folder.DescribeTopology, "work": folder.DescribeWork, "result": folder.ResultOf, "loop": metrics.LoopText,
	"clients": sumClients, "disagreements": disagreementsOf, "flags": flagsOf,
	"interface": func(r *folder.Run, role metrics.Role) string { return r.Usage[role].DataInterface },
	"nodes":     nodeTable, "usedNotes": tables.UsedNotes, "latencies": latencyTable, "notes": latencyNotes, "stages": stageTable, "machines": folder.Hardware, "trialLatencies": sweepLatencies,
	"lines": lineTables, "curves": curveTables, "compared": compared, "best": stats.BestBalance,
	"figured": func(b *metrics.Bottleneck) bool { return b.Figures != (metrics.BottleneckFigures{}) },
	"drawn":   drawn, "even": func(top float64) int { return max(1, int(1/top)) },
	"percent": func(share float64) float64 { return 100 * share },
	"over":    func(a, b float64) float64 { return a / b },
	"float":   func(n uint64) float64 { return float64(n) },
	"rate":    answer.Rate, "bytes": answer.Bytes, "commits": answer.Commits, "rates": ratesTable, "traced": traceTable, "differences": answer.Differences,
	"shade": shade, "share": percent, "interval": intervalWords, "limit": answer.Limit,
	"claimName": chart.ClaimName, "traits": traitsTable, "pairs": pairsText,
}

// page is a report: the answer with the main figure, and sections with a table of contents.
type page struct {
	Kind, ID string // "run" or "sweep", and its name
	answer.Answer
	Lead     []figure.Figure // the main figure; none if nothing was recorded
	Run      *folder.Run     // the run, or the trial that is shown in full; nil for none
	Trials   *folder.Sweep   // nil on the page of a run
	Sections []section
}

// Tiles returns the parts of the answer beside its headline.
func (p page) Tiles() []tile {
	all := []tile{{"Latency", p.Latency}, {"Commits", p.Commits}, {"Restart", p.Restart}, {"Limited by", p.Limit}, {"Checked", p.Checked}}
	return slices.DeleteFunc(all, func(t tile) bool { return t.Text == "" })
}

type tile struct{ Title, Text string }

// section is one section of a page. The template makes its text and tables from its ID.
type section struct {
	ID, Title string
	Brief     bool   // on paper, it shares a page
	Absent    bool   // left out
	Of        string // the trial of a sweep that it is about; "" for none
	Run       *folder.Run
	Trials    *folder.Sweep // nil on the page of a run
	Figures   []figure.Figure
	Files     []rawFile
	Body      template.HTML // of an extra's part
}

// phone is the style of a figure on a page of 390 pixels, of which 28 are its margins.
var phone = figure.Style{Width: 360}

// drawn returns a figure as a page has it: twice, as the second one is for phones. The page says
// what was measured, so it has no subtitle.
func drawn(f figure.Figure) (template.HTML, error) {
	f.Subtitle = ""
	wide, err := f.SVG() // every text in it is escaped
	f.Style = phone
	narrow, errNarrow := f.SVG()
	if err := errors.Join(err, errNarrow); err != nil {
		return "", err
	}
	tag := []byte("<svg")
	_, narrow, _ = bytes.Cut(narrow, tag)
	return template.HTML(wide[bytes.Index(wide, tag):]) + `<svg class="narrow"` + template.HTML(narrow), nil
}

// command returns a launcher's command, as it is typed in a clone of the repository.
func command(argv []string) string {
	return format.CommandLine(append([]string{"./run-cluster.sh"}, argv[1:]...))
}

// named returns the figures of these names.
func named(all []figure.Figure, names ...string) []figure.Figure {
	return slices.DeleteFunc(slices.Clone(all), func(f figure.Figure) bool { return !slices.Contains(names, f.Name) })
}

// rawFile is a JSON file inside a page. The template writes the value as JSON.
type rawFile struct {
	Name string // also the element's id
	JSON any
}

// shade returns the style of a verdict: a claim is neither good nor bad.
func shade(verdict string) string {
	switch verdict, _, _ = strings.Cut(verdict, ","); verdict {
	case "VALID":
		return "good"
	case "CLAIMED":
		return "soft"
	}
	return "bad"
}

// File is a file of a folder's results.
type File struct {
	Name string // below the folder
	Text []byte
}

// Render writes a page by one of the templates of the reports, or of further layouts.
// Everything that came from a node is escaped, and the page's policy lets no script run.
func Render(name string, data any, layouts ...fs.FS) ([]byte, error) {
	all, err := template.New("").Funcs(words).ParseFS(layoutFiles, "*.html", "style.css")
	for _, more := range layouts {
		if err == nil {
			all, err = all.ParseFS(more, "*")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("parse the report's template: %w", err)
	}
	var out bytes.Buffer
	if err := all.ExecuteTemplate(&out, name, data); err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	return bytes.Map(printable, out.Bytes()), nil
}

// render writes the page.
func (p page) render() ([]byte, error) {
	p.Sections = slices.DeleteFunc(p.Sections, func(s section) bool { return s.Absent })
	return Render("page.html", p)
}

// printable replaces the control characters that no document may hold and that
// escaping leaves as they are.
func printable(c rune) rune {
	if c != '\n' && c != '\t' && (unicode.IsControl(c) || c == unicode.ReplacementChar) {
		return '?'
	}
	return c
}

// absent is the text of a value that was not measured.
const absent = "-"

// table is a table of words and numbers, for a page or a terminal.
type table struct {
	Caption string
	Columns []string
	Names   []int // the columns that hold words
	Rows    [][]string
	Groups  int // the number of last rows that are about several nodes each
}

// add appends a row.
func (t *table) add(texts ...string) { t.Rows = append(t.Rows, texts) }

// Class returns the style of a cell, or of a column's head, whose row is -1.
func (t table) Class(row, column int) string {
	var class []string
	if slices.Contains(t.Names, column) {
		class = append(class, "name")
	}
	if row >= len(t.Rows)-t.Groups {
		class = append(class, "group")
	}
	return strings.Join(class, " ")
}

// Text returns the table for a terminal.
func (t table) Text() string {
	var out strings.Builder
	aligned := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(aligned, strings.Join(t.Columns, "\t")+"\t")
	for _, row := range t.Rows {
		for _, text := range row {
			fmt.Fprint(aligned, format.Label(text, 32)+"\t")
		}
		fmt.Fprintln(aligned)
	}
	aligned.Flush()
	return out.String()
}

// grouped writes all digits of n, in groups of three.
func grouped(n uint64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// percent writes a share; 0 is unknown.
func percent(share float64) string {
	if share == 0 {
		return absent
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}
