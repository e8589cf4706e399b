// Package report makes one HTML page of a run or a sweep, and its text for a
// terminal. The page needs no other file and runs no script. Text from nodes is
// escaped.
package report

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode"

	"kvlab/metrics/format"
	"kvlab/plots/figure"
)

//go:embed page.html sections.html style.css
var layoutFiles embed.FS

// page is a report: a header, and sections with a table of contents.
type page struct {
	Kind, ID string // "run" or "sweep", and its name
	Verdict  string
	Good     bool
	Headline string
	Interval string   // how sure the headline is
	What     string   // what was measured, in a sentence
	Warnings []string // weaken the result
	Sections []section
}

// section is one section of a page. One without data is left out.
type section struct {
	ID, Title string
	Brief     bool   // on paper, it shares a page
	Layout    string // its template
	Data      any
	Body      template.HTML // what the template made of the data
}

// part is the usual section: paragraphs, a list, tables, notes and figures.
type part struct {
	Lead    []string
	List    []string
	Tables  []table
	Notes   []string
	Figures drawings
}

// drawing is a figure as a page has it.
type drawing struct {
	Name, Title string
	SVG         template.HTML
}

// drawings are the figures of a page.
type drawings []drawing

// drawAll renders figures. The page says what was measured, so they have no
// subtitle.
func drawAll(all []figure.Figure) (drawn drawings, err error) {
	for _, f := range all {
		f.Subtitle = ""
		svg, err := f.SVG() // every text in it is escaped
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, drawing{f.Name, f.Title, template.HTML(svg[bytes.Index(svg, []byte("<svg")):])})
	}
	return drawn, nil
}

// named returns the figures of these names.
func (d drawings) named(names ...string) drawings {
	return slices.DeleteFunc(slices.Clone(d), func(f drawing) bool { return !slices.Contains(names, f.Name) })
}

// table is a table of words and numbers.
type table struct {
	Caption string
	Columns []string
	Names   []int // the columns that hold words
	Rows    []row
}

// row is one line of a table. A group's is bold.
type row struct {
	Group bool
	Cells []cell
}

// cell is one cell of a table. Class is "good", "bad" or "".
type cell struct{ Text, Class string }

// Class is the style of a column's head or of a cell in it.
func (t table) Class(column int, in ...cell) string {
	var class []string
	if slices.Contains(t.Names, column) {
		class = append(class, "name")
	}
	for _, c := range in {
		class = append(class, c.Class)
	}
	return strings.TrimSpace(strings.Join(class, " "))
}

// add appends a row of plain cells.
func (t *table) add(texts ...string) { t.Rows = append(t.Rows, row{Cells: cells(texts...)}) }

// cells are plain cells.
func cells(texts ...string) []cell {
	all := make([]cell, len(texts))
	for i, text := range texts {
		all[i].Text = text
	}
	return all
}

// setting is one line of a list of settings.
type setting struct{ Name, Value string }

// command is lines to type, and why.
type command struct {
	Why   string
	Lines []string
}

// rawFile is a JSON file inside a page.
type rawFile struct {
	Name, File string // the element's id; the file's own name
	JSON       json.RawMessage
	Size       string
}

// maxRaw is the size of the largest JSON file in a page. A run of hundreds of nodes
// has counts for each pair of them.
const maxRaw = 8 << 20

// rawOf is a value as a JSON file inside a page.
func rawOf(name, file string, value any) (rawFile, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return rawFile{}, fmt.Errorf("write %s into the report: %w", file, err)
	}
	raw := rawFile{Name: name, File: file, JSON: text, Size: fmt.Sprintf("%sB of JSON", format.Count(float64(len(text))))}
	if len(text) > maxRaw {
		raw.JSON = nil
	}
	return raw, nil
}

// Extract is the command that takes the file out of the page: the line after its
// element's tag.
func (f rawFile) Extract() string {
	return fmt.Sprintf(`sed -n '/<script.* id="%s"/{n;p;}' report.html > %s`, f.Name, f.File)
}

// render writes the page. Everything that came from a node is escaped, and the
// page's policy lets no script run.
func (p page) render() ([]byte, error) {
	layouts, err := template.ParseFS(layoutFiles, "page.html", "sections.html", "style.css")
	if err != nil {
		return nil, fmt.Errorf("parse the report's template: %w", err)
	}
	p.Sections = slices.DeleteFunc(p.Sections, func(s section) bool { return s.Data == nil })
	for i := range p.Sections {
		s := &p.Sections[i]
		var body bytes.Buffer
		if err := layouts.ExecuteTemplate(&body, s.Layout, s.Data); err != nil {
			return nil, fmt.Errorf("write section %s of the report: %w", s.ID, err)
		}
		s.Body = template.HTML(body.String())
	}
	var out bytes.Buffer
	if err := layouts.ExecuteTemplate(&out, "page.html", p); err != nil {
		return nil, fmt.Errorf("write the report: %w", err)
	}
	return bytes.Map(printable, out.Bytes()), nil
}

// printable replaces the control characters that no document may hold and that
// escaping leaves as they are.
func printable(c rune) rune {
	if c != '\n' && c != '\t' && (unicode.IsControl(c) || c == unicode.ReplacementChar) {
		return '?'
	}
	return c
}

// grouped writes all digits of n, in groups of three.
func grouped(n uint64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
