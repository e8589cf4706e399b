package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// CompareSides compares the two sides of a folder of --ab, by the pairs in which
// their trials were made. It need not have ended. An InputError says that it is not
// such a folder, or that a side has no valid trial.
func CompareSides(dir string) (Comparison, error) {
	c := Comparison{Paired: true}
	dir, err := folder.RealPath(dir) // trials are called by their folder's name
	if err != nil {
		return c, err
	}
	plan, trials, err := metrics.ReadSweep(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, &folder.InputError{Err: err}
	}
	if len(plan.Sides) != len(metrics.SideNames) {
		return c, &folder.InputError{Err: fmt.Errorf("%s is not a folder of --ab: name two to compare, as in kvsplot compare A B", dir)}
	}
	for _, trial := range trials {
		if !folder.Planned(plan.Knobs, trial.Point) {
			return c, &folder.InputError{Err: fmt.Errorf("%s: trial %d is of neither side", filepath.Join(dir, metrics.TrialsFile), trial.Number)}
		}
	}
	runs, err := folder.LoadTrials(dir)
	if err != nil {
		return c, err
	}
	for i, side := range []*Side{&c.A, &c.B} {
		var own []*folder.Run
		for at, trial := range trials {
			if trial.Point[0] == metrics.SideNames[i] {
				own = append(own, runs[at])
			}
		}
		side.Name = sideName(plan, i)
		if _, err := side.take(own); err != nil {
			return c, err
		}
	}
	a, b := pairs(trials, func(i int) float64 { return trials[i].OpsPerS })
	if c.Pairs = len(a); c.Pairs == 0 {
		return c, &folder.InputError{Err: errors.New(filepath.Base(dir) + ": no pair has two valid trials: there is nothing to compare")}
	}
	if plan.Together {
		c.compareCosts(trials, runs)
	} else {
		c.Ratio, c.Known = stats.RatioOf(a, b, true, 0.95)
	}
	c.differ()
	return c, nil
}

// sideName is what a side was told, for people.
func sideName(plan metrics.Sweep, i int) string {
	return format.Label(cmp.Or(plan.Sides[i].Args, "nothing of its own"), 120)
}

// pairs are a figure of the trials of A and B in those pairs that have two valid ones,
// in their order, where it is above 0. A pair is a block of a sweep's order: trials 1
// and 2, 3 and 4, and so on.
func pairs(trials []metrics.Trial, figure func(i int) float64) (a, b []float64) {
	figures := make(map[int]map[string]float64)
	for i, trial := range trials {
		if trial.Verdict.Valid && figure(i) > 0 {
			pair := (trial.Number - 1) / len(metrics.SideNames)
			if figures[pair] == nil {
				figures[pair] = make(map[string]float64)
			}
			figures[pair][trial.Point[0]] = figure(i)
		}
	}
	for _, pair := range slices.Sorted(maps.Keys(figures)) {
		if both := figures[pair]; len(both) == len(metrics.SideNames) {
			a, b = append(a, both[metrics.SideNames[0]]), append(b, both[metrics.SideNames[1]])
		}
	}
	return a, b
}
