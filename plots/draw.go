// Package plots draws a run's or a sweep's folder: figures as PNG and PDF, and one
// HTML report.
//
// folder reads the folder, chart makes figures of it, figure draws them, report makes
// the page. compare judges results instead of drawing them.
package plots

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/metrics/format"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
	"kvlab/plots/report"
)

// Page makes the files of one kind of sweep, in place of figures and a report, or a part of the
// reports of runs.
type Page struct {
	Part func(dir string, r *folder.Run) *report.Part // of the run in a folder; nil for none, as is its result

	Of    func(*folder.Sweep) bool                   // reports whether the sweep is of the kind
	Files func(*folder.Sweep) ([]report.File, error) // the files that could be made, and what the others lack
	Usage string                                     // names the files, for kvsplot's usage text; ends with a line feed
}

// Pages are the rows of a program. The first one that fits a sweep makes its files.
type Pages []Page

// Draw writes the figures, as PNG and PDF, and report.html of a run's or a sweep's
// folder into the folder itself, or the files of a page that fits it, and returns the names
// of the files. A sweep need not have ended.
func (p Pages) Draw(dir string) ([]string, error) {
	d, err := p.Load(dir)
	if err != nil {
		return nil, err
	}
	return d.Write(dir)
}

// Drawing is what is drawn of a run, a sweep or several runs.
type Drawing struct {
	Summary string   // for a terminal, in lines
	Notes   []string // what an aborted run did not write, and the runs that were left out
	figures []figure.Figure
	files   []report.File
	failed  error                                     // of files that could not be made, or lack something
	paper   func() ([]figure.Figure, []string, error) // further figures and notes of a paper
	format  string                                    // of the figures' files; "" for PNG and PDF
}

// Load reads a run's or a sweep's folder. It takes several run folders for the trials
// of one sweep, and a sweep's folder among them for its trials; a folder that is named
// twice counts once. Of these, only the figures are drawn, throughput_scaling first.
func (p Pages) Load(dirs ...string) (d Drawing, err error) {
	if len(dirs) > 1 {
		return loadMany(dirs)
	}
	dir := dirs[0]
	if folder.IsSweep(dir) {
		s, err := folder.LoadSweep(dir)
		if err != nil {
			return d, err
		}
		if i := slices.IndexFunc(p, func(page Page) bool { return page.Of != nil && page.Of(s) }); i >= 0 {
			d.files, d.failed = p[i].Files(s)
			return d, nil
		}
		d.figures, d.Summary = chart.ScalingFigures(s), report.SweepSummary(s)
		d.paper = func() ([]figure.Figure, []string, error) {
			figures, notes, err := paperOfSweep(s)
			for _, trial := range s.Failed() {
				notes = append(notes, "left out "+format.Label(fmt.Sprintf("%s: %s", s.TrialName(trial), trial.Verdict), 300))
			}
			return figures, notes, err
		}
		page, err := report.SweepReport(s)
		d.files = []report.File{{Name: "report.html", Text: page}}
		return d, err
	}
	r, err := folder.Load(dir)
	if err != nil {
		return d, err
	}
	for _, missing := range r.Missing {
		d.Notes = append(d.Notes, fmt.Sprintf("%s is incomplete: missing %s", dir, missing))
	}
	d.paper = func() ([]figure.Figure, []string, error) { return paperOfRun(r) }
	d.figures, d.Summary = chart.Figures(r), fmt.Sprintf("%sverdict %s\n", report.RunSummary(r.Run), r.Verdict)
	var parts []report.Part
	for _, page := range p {
		if page.Part == nil {
			continue
		}
		if part := page.Part(dir, r); part != nil {
			parts = append(parts, *part)
		}
	}
	page, err := report.Report(r, parts...)
	d.files = []report.File{{Name: "report.html", Text: page}}
	return d, err
}

// loadMany reads several folders.
func loadMany(dirs []string) (d Drawing, err error) {
	runs, err := folder.LoadRuns(dirs)
	if err != nil {
		return d, err
	}
	isQuick := func(r *folder.Run) bool { return r.Quick }
	if full := slices.DeleteFunc(slices.Clone(runs), isQuick); len(full) > 0 && len(full) < len(runs) {
		for _, r := range runs {
			if r.Quick {
				d.Notes = append(d.Notes, format.Label(fmt.Sprintf("left out %s: made with --quick, and others were not", r.ID), 300))
			}
		}
		runs = full
	}
	sweep := folder.SweepOf(runs)
	for _, knob := range sweep.Knobs[1:] {
		d.Notes = append(d.Notes, format.Label(fmt.Sprintf("the runs differ in %s: %s; each is a line of its own", knob.Name, strings.Join(knob.Values, " and ")), 300))
	}
	for _, trial := range sweep.Failed() {
		d.Notes = append(d.Notes, "left out "+format.Label(fmt.Sprintf("%s: %s", trial.Folder, trial.Verdict), 300))
	}
	if len(sweep.Failed()) == len(runs) {
		return d, errors.New("none of the runs is valid: there is nothing to draw")
	}
	d.figures = chart.ScalingFigures(sweep)
	d.paper = func() ([]figure.Figure, []string, error) { return paperOfSweep(sweep) }
	return d, nil
}

// Write writes the figures, and the pages and tables, into the folder out. It returns the
// names of the files. If a figure cannot be drawn, it writes none.
func (d Drawing) Write(out string) (files []string, err error) {
	all := d.files
	for _, f := range slices.Backward(d.figures) {
		for _, to := range []struct {
			name   string
			render func() ([]byte, error)
		}{{"svg", f.SVG}, {"pdf", f.PDF}, {"png", f.PNG}} {
			if to.name != d.format && (d.format != "" || to.name == "svg") {
				continue
			}
			content, err := to.render()
			if err != nil {
				return nil, err
			}
			all = slices.Insert(slices.Clone(all), 0, report.File{Name: f.Name + "." + to.name, Text: content})
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for figures: %w", err)
	}
	for _, f := range all {
		name := filepath.Join(out, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, f.Text, 0o644)); err != nil {
			return files, fmt.Errorf("write a figure: %w", err)
		}
		files = append(files, name)
	}
	return files, d.failed
}
