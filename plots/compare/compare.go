// Package compare judges results: how one configuration compares with another, and
// which grade a result has on a scale.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Comparison is how the throughput of one configuration compares with that of
// another, A and B.
type Comparison struct {
	A, B   Side
	Ratio  stats.Ratio // B over A
	Known  bool        // the ratio has an interval
	Costs  []Cost      // per operation, of trials at the same time; nil of others
	Paired bool        // the trials were made in pairs, of which there are Pairs with two valid ones
	Pairs  int
	Differ []string // what else is not the same, in words
}

// Side is the trials of one configuration.
type Side struct {
	Name     string
	Estimate stats.Estimate
	Failed   []string // the trials that are no data, with why
	settings map[string]string
	runs     []*folder.Run // the valid ones
}

// Compare compares run folders with others. A sweep's folder stands for its
// trials. An InputError says that a side has no valid trial, or trials of more
// than one configuration.
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
	c.Ratio, c.Known = stats.RatioOf(ratesA, ratesB, false, 0.95)
	c.differ()
	return c, nil
}

// differ fills in what is not the same on both sides.
func (c *Comparison) differ() {
	for _, name := range folder.Differences([]map[string]string{c.A.settings, c.B.settings}) {
		c.Differ = append(c.Differ, fmt.Sprintf("%s: %s and %s", name, named(c.A.settings[name]), named(c.B.settings[name])))
	}
}

// named is a setting's value, or that it has none.
func named(value string) string {
	if value == "" {
		return "none"
	}
	return format.Label(value, 80)
}

// load reads a side's folders and returns its valid trials' operations per
// second.
func (s *Side) load(dirs []string) ([]float64, error) {
	s.Name = strings.Join(dirs, ",")
	runs, err := folder.LoadRuns(dirs)
	if err != nil {
		return nil, err
	}
	return s.take(runs)
}

// take takes in a side's runs and returns the valid ones' operations per second.
func (s *Side) take(runs []*folder.Run) ([]float64, error) {
	var rates []float64
	var all []map[string]string
	for _, r := range runs {
		if !r.Verdict.Valid {
			s.Failed = append(s.Failed, format.Label(fmt.Sprintf("%s: %s", r.ID, r.Verdict), 300))
			continue
		}
		if r.OpsPerS <= 0 {
			return nil, &folder.InputError{Err: fmt.Errorf("%s: run %s has no throughput", s.Name, r.ID)}
		}
		rates, all = append(rates, r.OpsPerS), append(all, identity(r))
		s.runs = append(s.runs, r)
	}
	if len(rates) == 0 {
		return nil, &folder.InputError{Err: fmt.Errorf("%s: no run is valid: there is nothing to compare", s.Name)}
	}
	if differ := folder.Differences(all); len(differ) > 0 {
		return nil, &folder.InputError{Err: fmt.Errorf("%s: its runs differ in %s: compare one configuration with another", s.Name, strings.Join(differ, ", "))}
	}
	s.Estimate, _ = stats.MedianInterval(rates, 0.95)
	s.settings = all[0]
	return rates, nil
}

// String is the comparison for people, in lines, the answer last.
func (c Comparison) String() string {
	var b strings.Builder
	for _, side := range []struct {
		letter string
		Side
	}{{"A", c.A}, {"B", c.B}} {
		fmt.Fprintf(&b, "%s  %s: ops/s %s\n", side.letter, side.Name, side.Estimate)
		for _, failed := range side.Failed {
			fmt.Fprintf(&b, "   not valid, left out: %s\n", failed)
		}
	}
	if len(c.Differ) == 0 {
		b.WriteString("the configurations are the same\n")
	}
	for _, differ := range c.Differ {
		fmt.Fprintf(&b, "they differ in %s\n", differ)
	}
	fmt.Fprintln(&b, sameOperations(slices.Concat(c.A.runs, c.B.runs)))
	b.WriteString(c.answer())
	return b.String()
}

// answer says whether B is faster or slower than A, if that can be told.
func (c Comparison) answer() string {
	switch {
	case c.Costs != nil:
		return c.costs()
	case !c.Known && c.Paired:
		return fmt.Sprintf("cannot tell apart: B/A is %.3f, but with %s it has no interval, which needs %d",
			c.Ratio.Value, format.Plural(c.Pairs, "pair"), stats.RatioTrials)
	case !c.Known:
		return fmt.Sprintf("cannot tell apart: B/A is %.3f, but with %d and %d trials it has no interval, which needs %d of each",
			c.Ratio.Value, c.A.Estimate.N, c.B.Estimate.N, stats.RatioTrials)
	}
	ratio := fmt.Sprintf("B/A is %.3f, 95 %% interval %.3f to %.3f", c.Ratio.Value, c.Ratio.Low, c.Ratio.High)
	if c.Paired {
		ratio += " (the mean of " + format.Plural(c.Pairs, "pair") + ")"
	}
	smallest := c.Ratio.SmallestPercent() + " is the smallest difference that 4 of 5 such comparisons see"
	switch {
	case c.Ratio.Low > 1:
		return fmt.Sprintf("%s; %s\nB is faster, by %.1f to %.1f %%", ratio, smallest, 100*(c.Ratio.Low-1), 100*(c.Ratio.High-1))
	case c.Ratio.High < 1:
		return fmt.Sprintf("%s; %s\nB is slower, by %.1f to %.1f %%", ratio, smallest, 100*(1-c.Ratio.High), 100*(1-c.Ratio.Low))
	}
	return fmt.Sprintf("%s; %s\ncannot tell apart: the interval holds 1", ratio, smallest)
}
