package folder

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kvlab/metrics"
)

// Load is Read of a folder of the file system. Its errors name the folder.
func Load(dir string) (*Run, error) {
	r, err := Read(os.DirFS(dir))
	var input *InputError
	if errors.As(err, &input) {
		return nil, &InputError{fmt.Errorf("%s: %w", dir, input.Err)}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

// LoadRuns loads each run folder once, and all trials of a sweep's folder.
func LoadRuns(dirs []string) ([]*Run, error) {
	var runs []*Run
	seen := map[string]bool{}
	for _, dir := range dirs {
		path, err := RealPath(dir)
		if err != nil {
			return nil, err
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		if IsSweep(path) {
			trials, err := LoadTrials(path)
			if err != nil {
				return nil, err
			}
			runs = append(runs, trials...)
			continue
		}
		r, err := Load(dir)
		if err != nil {
			return nil, err
		}
		r.ID = cmp.Or(r.ID, filepath.Base(path))
		runs = append(runs, r)
	}
	return runs, nil
}

// LoadTrials loads the runs of a sweep's folder that have ended.
func LoadTrials(dir string) ([]*Run, error) {
	_, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		return nil, &InputError{err}
	}
	var runs []*Run
	for _, trial := range trials {
		r, err := Load(filepath.Join(dir, trial.Folder))
		var input *InputError
		if errors.As(err, &input) && !trial.Verdict.Valid { // it may have written nothing
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

// RealPath is the path of a folder without links.
func RealPath(dir string) (string, error) {
	path, err := filepath.EvalSymlinks(dir)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", &InputError{fmt.Errorf("find run folder: %w", err)}
	}
	return path, nil
}
