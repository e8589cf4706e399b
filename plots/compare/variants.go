package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Variants compares the two variants of a folder of --ab, by the pairs in which
// their trials were made. It need not have ended. An error says that it is not such
// a folder, or that a variant has no valid trial.
func Variants(dir string) (Comparison, error) {
	var c Comparison
	s := &folder.Sweep{}
	if folder.IsSweep(dir) {
		var err error
		if s, err = folder.LoadSweep(dir); err != nil {
			return c, err
		}
	}
	if len(s.Variants) != len(metrics.VariantNames) {
		return c, fmt.Errorf("%s is not a folder of --ab: name two to compare, as in kvsplot compare A B", dir)
	}
	trials := s.Trials
	for i, variant := range []*Variant{&c.A, &c.B} {
		var own []*folder.Run
		for at, trial := range trials {
			if trial.Point[0] == metrics.VariantNames[i] {
				own = append(own, s.Runs[at])
			}
		}
		variant.Name = format.Label(cmp.Or(s.Variants[i].Args, "nothing of its own"), 120)
		if _, err := variant.add(own); err != nil {
			return c, err
		}
	}
	a, b := pairs(trials, func(i int) float64 { return trials[i].OpsPerS })
	if len(a) == 0 {
		return c, fmt.Errorf("%s: no pair has two valid trials: there is nothing to compare", s.ID)
	}
	c.Results = []Result{resultOf(a, b, true, 0.95)}
	if s.Together {
		c.Results = nil // each variant has the throughput that the other leaves it
		for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
			a, b := pairs(trials, func(i int) float64 { return s.Runs[i].CPUPerOp(role) })
			cost := resultOf(a, b, true, stats.TogetherConfidence)
			cost.CostOf = role
			c.Results = append(c.Results, cost)
		}
	}
	c.differ()
	return c, nil
}

// pairs returns a figure of the trials of A and B, in the order of their pairs. Only
// pairs with two valid trials count, and figures above 0. A pair is a block of the
// sweep's order: trials 1 and 2, 3 and 4, and so on.
func pairs(trials []metrics.Trial, figure func(i int) float64) (a, b []float64) {
	figures := make(map[int]map[string]float64)
	for i, trial := range trials {
		if trial.Verdict.Valid && figure(i) > 0 {
			pair := (trial.Number - 1) / len(metrics.VariantNames)
			if figures[pair] == nil {
				figures[pair] = make(map[string]float64)
			}
			figures[pair][trial.Point[0]] = figure(i)
		}
	}
	for _, pair := range slices.Sorted(maps.Keys(figures)) {
		if both := figures[pair]; len(both) == len(metrics.VariantNames) {
			a, b = append(a, both[metrics.VariantNames[0]]), append(b, both[metrics.VariantNames[1]])
		}
	}
	return a, b
}
