package plots

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Draw writes a run folder's figures, as PNG and SVG, and report.html into the
// folder itself, and returns the names of the files it wrote.
func Draw(dir string) ([]string, error) {
	r, err := LoadDir(dir)
	if err != nil {
		return nil, err
	}
	return DrawRun(r, dir)
}

// LoadDir is Load on a folder of the file system; its errors name the folder.
func LoadDir(dir string) (*Run, error) {
	r, err := Load(os.DirFS(dir))
	var input *InputError
	if errors.As(err, &input) {
		return nil, &InputError{fmt.Errorf("%s: %w", dir, input.Err)}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

// DrawRun writes the figures and report.html of a run into out and returns the
// names of the files it wrote.
func DrawRun(r *Run, out string) ([]string, error) {
	files, err := write(Figures(r), out)
	if err != nil {
		return files, err
	}
	page, err := Report(r)
	if err != nil {
		return files, err
	}
	return writeFile(files, filepath.Join(out, "report.html"), page)
}

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

// DrawScaling takes several run folders for the trials of one sweep and writes
// its figures, throughput_scaling.png and .svg first, into out. It returns the names of the files, and the runs that are no data
// because they are not valid. A folder that is named twice counts once.
func DrawScaling(dirs []string, out string) (files, leftOut []string, err error) {
	var runs []*Run
	seen := map[string]bool{}
	for _, dir := range dirs {
		path, err := realPath(dir)
		if err != nil {
			return nil, nil, err
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		r, err := LoadDir(dir)
		if err != nil {
			return nil, nil, err
		}
		if r.ID == "" {
			r.ID = filepath.Base(path)
		}
		runs = append(runs, r)
	}
	sweep := SweepOf(runs)
	for _, trial := range sweep.failed() {
		leftOut = append(leftOut, label(fmt.Sprintf("%s: %s", trial.Folder, trial.Verdict), 300))
	}
	if len(leftOut) == len(runs) {
		return nil, leftOut, &InputError{fmt.Errorf("none of the %d runs is valid: there is nothing to draw", len(runs))}
	}
	files, err = write(ScalingFigures(sweep), out)
	return files, leftOut, err
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

// write renders figures into out in both formats.
func write(figures []Figure, out string) (files []string, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for figures: %w", err)
	}
	for _, f := range figures {
		for _, format := range []struct {
			ending string
			render func() ([]byte, error)
		}{{".png", f.PNG}, {".svg", f.SVG}} {
			picture, err := format.render()
			if err != nil {
				return files, err
			}
			files, err = writeFile(files, filepath.Join(out, f.Name+format.ending), picture)
			if err != nil {
				return files, err
			}
		}
	}
	return files, nil
}

// writeFile writes one file and adds its name to files.
func writeFile(files []string, name string, content []byte) ([]string, error) {
	if err := os.WriteFile(name, content, 0o644); err != nil {
		return files, fmt.Errorf("write a figure: %w", err)
	}
	return append(files, name), nil
}
