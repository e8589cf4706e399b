// Package plots draws a run's or a sweep's folder: figures as PNG and SVG, and one
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

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots/chart"
	"kvlab/plots/figure"
	"kvlab/plots/folder"
	"kvlab/plots/report"
)

// Draw writes the figures, as PNG and SVG, and report.html of a run's or a sweep's
// folder into the folder itself, and returns the names of the files it wrote. A
// sweep need not have ended.
func Draw(dir string) ([]string, error) {
	if folder.IsSweep(dir) {
		s, err := folder.LoadSweep(dir)
		if err != nil {
			return nil, err
		}
		return DrawSweep(s, dir)
	}
	r, err := folder.Load(dir)
	if err != nil {
		return nil, err
	}
	return DrawRun(r, dir)
}

// DrawRun is Draw of a run that is loaded, into the folder out.
func DrawRun(r *folder.Run, out string) ([]string, error) {
	page, err := report.Report(r)
	if err != nil {
		return nil, err
	}
	return write(chart.Figures(r), page, out)
}

// DrawSweep is Draw of a sweep that is loaded, into the folder out.
func DrawSweep(s *folder.Sweep, out string) ([]string, error) {
	page, err := report.SweepReport(s)
	if err != nil {
		return nil, err
	}
	return write(chart.ScalingFigures(s), page, out)
}

// DrawMany takes several run folders for the trials of one sweep, and a sweep's
// folder for those of its trials, and writes their figures, throughput_scaling.png
// and .svg first, into out. It returns the names of the files, and the runs that
// it left out because they are not valid. A folder that is named twice counts
// once.
func DrawMany(dirs []string, out string) (files, leftOut []string, err error) {
	runs, err := folder.LoadRuns(dirs)
	if err != nil {
		return nil, nil, err
	}
	sweep := folder.SweepOf(runs)
	for _, trial := range sweep.Failed() {
		leftOut = append(leftOut, format.Label(fmt.Sprintf("%s: %s", trial.Folder, trial.Verdict), 300))
	}
	if len(leftOut) == len(runs) {
		return nil, leftOut, &folder.InputError{Err: errors.New("none of the runs is valid: there is nothing to draw")}
	}
	files, err = write(chart.ScalingFigures(sweep), nil, out)
	return files, leftOut, err
}

// Summary is a run as text for a terminal: what each node and each group used in
// the window, the latencies, and the total. Every line ends with a line feed.
func Summary(run metrics.Run) string { return report.RunSummary(run) }

// write writes figures in both formats, and the page report.html unless it is nil,
// into the folder out.
func write(figures []figure.Figure, page []byte, out string) (files []string, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for figures: %w", err)
	}
	save := func(name string, content []byte) error {
		name = filepath.Join(out, name)
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return fmt.Errorf("write a figure: %w", err)
		}
		files = append(files, name)
		return nil
	}
	for _, f := range figures {
		png, err := f.PNG()
		if err != nil {
			return files, err
		}
		svg, err := f.SVG()
		if err != nil {
			return files, err
		}
		if err := errors.Join(save(f.Name+".png", png), save(f.Name+".svg", svg)); err != nil {
			return files, err
		}
	}
	if page == nil {
		return files, nil
	}
	return files, save("report.html", page)
}
