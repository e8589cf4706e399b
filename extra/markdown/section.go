// Package markdown writes run folders as the section of a README or of a report, and as the
// tables of a paper. It takes sentences and tables from the page of package report.
package markdown

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/chart"
	"kvlab/plots/compare"
	drawn "kvlab/plots/figure"
	"kvlab/plots/folder"
	"kvlab/plots/report"
)

// section is what is written of run folders.
type section struct {
	root    string // the checkout
	tracked bool   // it is one of git
	blocks  []block
	figures map[string]picture // by the names that blocks have
}

// picture is a figure of a run folder.
type picture struct {
	drawn.Figure
	dir string
}

// of returns the section of run folders.
func of(root string, dirs []string) (*section, error) {
	s := &section{root: root, figures: make(map[string]picture)}
	s.tracked = s.git("rev-parse", "HEAD") == nil
	if len(dirs) > 1 {
		if err := s.several(dirs); err != nil {
			return nil, err
		}
	}
	for _, dir := range dirs {
		if path, err := filepath.EvalSymlinks(dir); err == nil {
			dir = path // latest will be another one
		}
		if err := s.add(dir); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// words returns a text, which is code if it is a flag.
func words(text string) []span {
	return []span{{text, len(text) > 1 && text[0] == '-' && text[1] >= 'a'}}
}

func (s *section) head(text string, top bool) {
	s.blocks = append(s.blocks, block{kind: heading, top: top, spans: words(text)})
}

// list adds a table. Its columns have words, except for those in numbers.
func (s *section) list(caption string, head []string, numbers []int, rows [][]string) {
	b := block{kind: tabular, spans: words(caption)}
	for i, text := range head {
		b.head = append(b.head, cell{words(text), !slices.Contains(numbers, i)})
	}
	for _, row := range rows {
		var cells [][]span
		for _, text := range row {
			cells = append(cells, words(text))
		}
		b.rows = append(b.rows, cells)
	}
	if len(rows) > 0 {
		s.blocks = append(s.blocks, b)
	}
}

// several adds a table of the runs, and the figure in which they are together.
func (s *section) several(dirs []string) error {
	s.head("Results", true)
	var rows [][]string
	for _, dir := range dirs {
		figures, err := compare.Figures(dir)
		if err != nil {
			return err
		}
		verdict, d := "INCOMPLETE", new(report.Document)
		if d.Of(dir); d.Answer != nil {
			verdict = d.Answer.Verdict
		}
		for _, f := range figures {
			rows = append(rows, []string{nameOf(dir), f.Name, f.Text, verdict})
		}
	}
	s.list("Each figure, with its interval", []string{"run", "figure", "value", "verdict"}, []int{2}, rows)
	runs, err := folder.LoadRuns(dirs)
	if err != nil {
		return err
	}
	if all := folder.SweepOf(runs); len(all.Failed()) < len(runs) {
		for _, f := range chart.ScalingFigures(all) {
			s.picture(nameOf(dirs[0])+"-all", "", f)
		}
	}
	return nil
}

// nameOf returns the name of a run folder, of a link such as latest what it leads to.
func nameOf(dir string) string {
	if path, err := filepath.EvalSymlinks(dir); err == nil {
		dir = path
	}
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	return filepath.Base(dir)
}

// picture adds a figure. Its file has a name of its own.
func (s *section) picture(id, dir string, f drawn.Figure) {
	name := id + "-" + f.Name
	s.figures[name] = picture{f, dir}
	s.blocks = append(s.blocks, block{kind: figure, text: name, spans: words(f.Title)})
}

// source is a run folder as its page shows it.
type source struct {
	dir     string
	page    *element
	figures []drawn.Figure
	sample  *folder.Run // whose settings are shown; nil for none
	plan    metrics.Sweep
}

// load reads a run folder.
func load(dir string) (in source, err error) {
	in.dir = dir
	var page []byte
	if folder.IsSweep(dir) {
		all, err := folder.LoadSweep(dir)
		if err == nil && all.Class != nil {
			err = fmt.Errorf("%s is a class, which has pages of its own", dir)
		}
		if err != nil {
			return in, err
		}
		if page, err = report.SweepReport(all); err != nil {
			return in, err
		}
		in.plan, in.figures = all.Sweep, chart.ScalingFigures(all)
		if i := slices.IndexFunc(all.Points, func(p folder.Point) bool { return p.Run != nil }); i >= 0 {
			in.sample = all.Points[i].Run
		}
	} else {
		if in.sample, err = folder.Load(dir); err != nil {
			return in, err
		}
		if page, err = report.Report(in.sample); err != nil {
			return in, err
		}
		in.plan = metrics.Sweep{Command: in.sample.Command, GitCommit: in.sample.GitCommit, Changed: in.sample.Changed}
		if len(in.sample.Logs) > 0 {
			in.figures = chart.Figures(in.sample)
		}
	}
	in.page, err = parse(page)
	return in, err
}

// parts are the sections of a page that are taken, in their order, with the settings among them.
var parts = []string{"comparison", "claims", "figures", "throughput", "latency", "usage", "settings", "hardware", "reproduce"}

// add adds a run folder.
func (s *section) add(dir string) error {
	in, err := load(dir)
	if err != nil {
		return err
	}
	s.answer(dir, in.page)
	s.take(in, slices.DeleteFunc(slices.Clone(in.page.find("body")[0].inner), func(e *element) bool { return e.name != "figure" }))
	for _, id := range parts {
		if id == "settings" {
			s.settings(in.sample, in.plan.Knobs)
			continue
		}
		for _, one := range in.page.find("section") {
			if one.id != id || id == "throughput" && in.plan.Order == nil {
				continue
			}
			before := len(s.blocks)
			s.take(in, one.inner)
			if id == "reproduce" {
				s.reproduce(s.blocks[before:], in.plan)
			}
		}
	}
	return nil
}

// take adds the blocks of elements, except for figures of a folder below.
func (s *section) take(in source, inner []*element) {
	for _, b := range (&element{inner: inner}).blocks() {
		if b.kind != figure {
			s.blocks = append(s.blocks, b)
		} else if i := slices.IndexFunc(in.figures, func(f drawn.Figure) bool { return f.Name == b.text }); i >= 0 {
			s.picture(nameOf(in.dir), in.dir, in.figures[i])
		}
	}
}

// answer adds what the page's head says, and a table of the figures.
func (s *section) answer(dir string, tree *element) {
	head := tree.find("header")[0]
	title := head.find("h1")[0].plain()
	for _, p := range head.find("p") {
		if strings.HasPrefix(p.class, "verdict") {
			s.head(title+": "+p.plain(), true)
			continue
		}
		s.blocks = append(s.blocks, block{kind: paragraph, top: p.class == "headline", spans: p.spans()})
	}
	var rows [][]string
	figures, _ := compare.Measured(dir) // the page has said what is wrong
	for _, f := range figures {
		if f.Value == 0 && f.Says == "" {
			continue // of a result that does not stand
		}
		name := strings.Join(format.NonEmpty(f.Name, f.Says), ": ")
		if !strings.Contains(name, f.Unit) {
			name += ", " + f.Unit
		}
		rows = append(rows, []string{name, f.Text})
	}
	s.list("Figures, with their intervals", []string{"figure", "value"}, []int{1}, rows)
	for _, tile := range tree.find("div") {
		for _, part := range tile.find("div") {
			if title := part.find("h3"); len(title) == 1 {
				s.blocks = append(s.blocks, block{kind: item, spans: append(words(title[0].plain()+": "), part.find("p")[0].spans()...)})
			}
		}
	}
	for _, list := range tree.find("ul") {
		if list.class == "caveats" {
			for _, b := range list.blocks() {
				s.blocks = append(s.blocks, block{kind: item, spans: append(words("Caveat: "), b.spans...)})
			}
		}
	}
}

// settings adds the flags that were set to something else than their defaults, and what they
// mean, by the programs' own words. A flag of both programs has one row.
func (s *section) settings(r *folder.Run, knobs []metrics.Knob) {
	if r == nil {
		return
	}
	rows := map[string][]string{}
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		config := r.Config(role)
		if config == nil {
			continue
		}
		for _, f := range config.Chosen {
			file := strings.HasPrefix(config.Flags[f.Name], "{") // of a target, in one line: the command names it
			if rows[f.Name] == nil && !file && f.Name != "target" && !slices.ContainsFunc(knobs, func(k metrics.Knob) bool { return k.Name[strings.LastIndexByte(k.Name, '.')+1:] == f.Name }) {
				rows[f.Name] = []string{"-" + f.Name, format.Label(config.Flags[f.Name], 80), cmp.Or(f.Default, "none"), meaning(f.Usage)}
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	s.head("Settings that differ from the defaults", false)
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, rows[name])
	}
	s.list("", []string{"flag", "value", "default", "meaning"}, nil, all)
}

// meaning returns the first part of a flag's usage text.
func meaning(usage string) string {
	first, _, _ := strings.Cut(strings.ReplaceAll(usage, "`", ""), ";")
	return first
}
