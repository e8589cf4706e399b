package folder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"kvlab/metrics"
)

// Sweep is a sweep's folder in memory, or several runs as if they were a sweep.
type Sweep struct {
	metrics.Sweep
	Trials []metrics.Trial // finished, in the order of their execution
	Runs   []*Run          // run.json of each trial
	Points []Point         // every planned one, in the order of the knobs' values
	Dir    string          // "" for runs as if they were a sweep
}

// Point is one combination of the knobs' values.
type Point struct {
	metrics.Point
	Run *Run // run.json of its first valid trial; nil without one
}

// IsSweep reports whether dir is a sweep's folder.
func IsSweep(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, metrics.SweepFile))
	return err == nil
}

// LoadSweep reads a sweep's folder. A trial that did not finish is left out.
func LoadSweep(dir string) (*Sweep, error) {
	plan, trials, err := metrics.ReadSweep(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a sweep's folder: %s is not in it", dir, metrics.SweepFile)
	}
	if err != nil {
		return nil, err
	}
	s := &Sweep{Sweep: plan, Trials: trials, Dir: dir}
	for _, trial := range trials {
		if !planned(plan.Knobs, trial.Point) {
			return nil, fmt.Errorf("%s: trial %d is of point %q, which %s does not have",
				filepath.Join(dir, metrics.TrialsFile), trial.Number, trial.Point, metrics.SweepFile)
		}
		r, folder := &Run{}, filepath.Join(dir, trial.Folder)
		if err := r.readJSON(os.DirFS(folder)); err != nil && trial.Verdict.Valid {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		r.ID, r.Verdict = plan.ID+"/"+trial.Folder, trial.Verdict // an INVALID one may have written nothing
		s.Runs = append(s.Runs, r)
	}
	s.summarize()
	return s, nil
}

// planned reports whether the knobs have such a point.
func planned(knobs []metrics.Knob, point []string) bool {
	return slices.EqualFunc(knobs, point, func(k metrics.Knob, value string) bool { return slices.Contains(k.Values, value) })
}

// summarize fills in the points.
func (s *Sweep) summarize() {
	for _, point := range metrics.Summarize(s.Sweep, s.Trials) {
		p := Point{Point: point}
		if len(point.Valid) > 0 {
			p.Run = s.Runs[slices.IndexFunc(s.Trials, func(t metrics.Trial) bool { return t.Number == point.Valid[0].Number })]
		}
		s.Points = append(s.Points, p)
	}
}

// LoadRuns loads each run folder once, and run.json of all trials of a sweep's
// folder.
func LoadRuns(dirs []string) ([]*Run, error) {
	var runs []*Run
	seen := map[string]bool{}
	for _, dir := range dirs {
		if dir == "" {
			return nil, errors.New("a folder's name is empty: want names with commas between them")
		}
		path, err := filepath.EvalSymlinks(dir)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return nil, fmt.Errorf("find run folder: %w", err)
		}
		if seen[path] {
			continue
		}
		seen[path] = true
		if IsSweep(path) {
			s, err := LoadSweep(path)
			if err != nil {
				return nil, err
			}
			runs = append(runs, s.Runs...)
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

// Failed returns the trials that are not valid.
func (s *Sweep) Failed() []metrics.Trial {
	return slices.DeleteFunc(slices.Clone(s.Trials), func(t metrics.Trial) bool { return t.Verdict.Valid })
}

// TrialName is a trial for people: "trial 3, nodes=8", or a run's id.
func (s *Sweep) TrialName(t metrics.Trial) string {
	name := fmt.Sprintf("trial %d", t.Number)
	if s.ID == "" {
		name = t.Folder
	}
	if point := metrics.PointName(s.Knobs, t.Point); point != "" {
		name += ", " + point
	}
	return name
}
