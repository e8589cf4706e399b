// Package compare judges results: how one configuration compares with another, and
// which grade a result has on a scale.
package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Comparison is how one configuration compares with another, A and B.
type Comparison struct {
	A, B    Variant
	Results []Result // the throughput; for trials at the same time, the cost of an operation on servers and on clients
	Differ  []string // the settings that are not the same
}

// Variant is the trials of one configuration.
type Variant struct {
	Name     string
	Estimate stats.Estimate
	Failed   []string // the trials that are not valid, with the reason
	settings map[string]string
	runs     []*folder.Run // the valid ones
}

// Compare compares run folders with others. A sweep's folder stands for its
// trials. An error says that A or B has no valid trial, or trials of more than one
// configuration.
func Compare(a, b []string) (Comparison, error) {
	var c Comparison
	ratesA, err := c.A.load(a)
	if err != nil {
		return c, err
	}
	ratesB, err := c.B.load(b)
	if err != nil {
		return c, err
	}
	c.Results = []Result{resultOf(ratesA, ratesB, false, 0.95)}
	c.differ()
	return c, nil
}

// differ fills in the settings that are not the same.
func (c *Comparison) differ() {
	for _, name := range folder.Differences([]map[string]string{c.A.settings, c.B.settings}) {
		c.Differ = append(c.Differ, fmt.Sprintf("%s: %s and %s", name, named(c.A.settings[name]), named(c.B.settings[name])))
	}
}

// named returns a setting's value, "none" if it is empty.
func named(value string) string { return format.Label(cmp.Or(value, "none"), 80) }

// load reads a variant's folders and returns its valid trials' operations per
// second.
func (v *Variant) load(dirs []string) ([]float64, error) {
	v.Name = strings.Join(dirs, ",")
	runs, err := folder.LoadRuns(dirs)
	if err != nil {
		return nil, err
	}
	return v.add(runs)
}

// add adds a variant's runs and returns the valid ones' operations per second.
func (v *Variant) add(runs []*folder.Run) ([]float64, error) {
	var rates []float64
	var all []map[string]string
	for _, r := range runs {
		if !r.Verdict.Valid {
			v.Failed = append(v.Failed, format.Label(fmt.Sprintf("%s: %s", r.ID, r.Verdict), 300))
			continue
		}
		if r.OpsPerS <= 0 {
			return nil, fmt.Errorf("%s: run %s has no throughput", v.Name, r.ID)
		}
		rates, all = append(rates, r.OpsPerS), append(all, identity(r))
		v.runs = append(v.runs, r)
	}
	if len(rates) == 0 {
		return nil, fmt.Errorf("%s: no run is valid: there is nothing to compare", v.Name)
	}
	if differ := folder.Differences(all); len(differ) > 0 {
		return nil, fmt.Errorf("%s: its runs differ in %s: compare one configuration with another", v.Name, strings.Join(differ, ", "))
	}
	v.Estimate, _ = stats.MedianInterval(rates, 0.95)
	v.settings = all[0]
	return rates, nil
}

// String is the comparison for people, in lines, the answer last.
func (c Comparison) String() string {
	var lines []string
	add := func(line string, args ...any) { lines = append(lines, fmt.Sprintf(line, args...)) }
	for i, variant := range []Variant{c.A, c.B} {
		add("%c  %s: ops/s %s", 'A'+i, variant.Name, variant.Estimate)
		for _, failed := range variant.Failed {
			add("   not valid, left out: %s", failed)
		}
	}
	if len(c.Differ) == 0 {
		add("the configurations are the same")
	}
	for _, differ := range c.Differ {
		add("they differ in %s", differ)
	}
	lines = append(lines, sameOperations(slices.Concat(c.A.runs, c.B.runs)))
	if len(c.Results) > 1 {
		add("trials at the same time on the same nodes take throughput from each other; the cost of an operation tells them apart")
	}
	for _, result := range c.Results {
		lines = append(lines, result.String())
	}
	return strings.Join(lines, "\n")
}
