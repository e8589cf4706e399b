package plots

import (
	"errors"
	"fmt"
	"path/filepath"

	"kvlab/metrics"
)

// DrawSweep writes the figures and report.html of a sweep's folder into the
// folder itself, and returns the names of the files it wrote. The sweep need not
// have ended.
func DrawSweep(dir string) ([]string, error) {
	s, err := LoadSweep(dir)
	if err != nil {
		return nil, err
	}
	return DrawPoints(s, dir)
}

// DrawPoints writes the figures and report.html of a sweep into out and returns
// the names of the files it wrote.
func DrawPoints(s *Sweep, out string) ([]string, error) {
	files, err := write(ScalingFigures(s), out)
	if err != nil {
		return files, err
	}
	page, err := SweepReport(s)
	if err != nil {
		return files, err
	}
	return writeFile(files, filepath.Join(out, "report.html"), page)
}

// DrawScaling takes several run folders for the trials of one sweep, and a sweep's
// folder for those of its trials, and writes their figures, throughput_scaling.png
// and .svg first, into out. It returns the names of the files, and the runs that
// are no data because they are not valid. A folder that is named twice counts
// once.
func DrawScaling(dirs []string, out string) (files, leftOut []string, err error) {
	runs, err := loadRuns(dirs)
	if err != nil {
		return nil, nil, err
	}
	sweep := SweepOf(runs)
	for _, trial := range sweep.failed() {
		leftOut = append(leftOut, label(fmt.Sprintf("%s: %s", trial.Folder, trial.Verdict), 300))
	}
	if len(leftOut) == len(runs) {
		return nil, leftOut, &InputError{errors.New("none of the runs is valid: there is nothing to draw")}
	}
	files, err = write(ScalingFigures(sweep), out)
	return files, leftOut, err
}

// loadRuns loads each run folder once, and all trials of a sweep's folder.
func loadRuns(dirs []string) ([]*Run, error) {
	var runs []*Run
	seen := map[string]bool{}
	for _, dir := range dirs {
		path, err := realPath(dir)
		if err != nil {
			return nil, err
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		if !IsSweep(path) {
			r, err := LoadDir(dir)
			if err != nil {
				return nil, err
			}
			if r.ID == "" {
				r.ID = filepath.Base(path)
			}
			runs = append(runs, r)
			continue
		}
		trials, err := loadTrials(path)
		if err != nil {
			return nil, err
		}
		runs = append(runs, trials...)
	}
	return runs, nil
}

// loadTrials loads the runs of a sweep's folder that have ended.
func loadTrials(dir string) ([]*Run, error) {
	_, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		return nil, &InputError{err}
	}
	var runs []*Run
	for _, trial := range trials {
		r, err := LoadDir(filepath.Join(dir, trial.Folder))
		var input *InputError
		if errors.As(err, &input) && !trial.Verdict.Valid { // it may have left nothing
			r, err = &Run{Run: metrics.Run{Verdict: trial.Verdict}}, nil
		}
		if err != nil {
			return nil, err
		}
		r.ID = filepath.Base(dir) + "/" + trial.Folder
		runs = append(runs, r)
	}
	return runs, nil
}

// realPath is where a folder is, whatever links lead to it.
func realPath(dir string) (string, error) {
	path, err := filepath.EvalSymlinks(dir)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", &InputError{fmt.Errorf("find run folder: %w", err)}
	}
	return path, nil
}
