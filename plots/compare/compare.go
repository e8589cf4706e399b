// Package compare judges results: how one configuration compares with another, and
// which grade a result has on a scale.
package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Comparison says how configuration B compares with configuration A.
type Comparison struct {
	A, B    Variant
	Results []Result // the throughput; for trials at the same time, the cost of an operation on servers and on clients
	Differ  []string // the settings that are not the same
}

// Variant is the trials of one configuration.
type Variant struct {
	Name     string
	Estimate stats.Estimate
	Programs string // the programs of other commits, for people; "" for none
	settings map[string]string
	runs     []*folder.Run // the valid ones
}

// Compare compares run folders with others. A sweep's folder stands for its
// trials. An error says that A or B has no valid trial, or trials of more than one
// configuration.
func Compare(a, b []string) (c Comparison, err error) {
	var rates [2][]float64
	for i, variant := range []*Variant{&c.A, &c.B} {
		dirs := [][]string{a, b}[i]
		runs, err := folder.LoadRuns(dirs)
		if err != nil {
			return c, err
		}
		if rates[i], err = variant.add(strings.Join(dirs, ","), runs); err != nil {
			return c, err
		}
	}
	if err := checkRanked(slices.Concat(c.A.runs, c.B.runs)); err != nil {
		return c, err
	}
	c.Results = []Result{resultOf(rates[0], rates[1], stats.Apart, 0.95)}
	c.Differ = differing(": ", c.A.settings, c.B.settings)
	return c, nil
}

// checkRanked returns an error if some of the runs are quick ones and others are not.
// They are never ranked against each other.
func checkRanked(runs []*folder.Run) error {
	for _, r := range runs {
		if first := runs[0]; r.Quick != first.Quick {
			if r.Quick {
				first, r = r, first
			}
			return fmt.Errorf("%s was made with --quick and %s was not: a quick run is never ranked against a full one", first.ID, r.ID)
		}
	}
	return nil
}

// differing lists the settings that are not the same, each with its values.
func differing(colon string, configurations ...map[string]string) (all []string) {
	for _, name := range folder.Differences(configurations) {
		var values []string
		for _, c := range configurations {
			if v := format.Label(cmp.Or(c[name], "none"), 80); !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		all = append(all, name+colon+strings.Join(values, " and "))
	}
	return all
}

// add adds the runs of a variant without any, and returns their operations per second. All
// must be valid.
func (v *Variant) add(name string, runs []*folder.Run) ([]float64, error) {
	v.Name = name
	var rates []float64
	var all []map[string]string
	for _, r := range runs {
		if !r.Verdict.Stands() {
			return nil, fmt.Errorf("%s: %s is %s: the others are a selection", v.Name, r.ID, format.Label(r.Verdict.String(), 300))
		}
		if r.OpsPerS <= 0 {
			return nil, fmt.Errorf("%s: run %s has no throughput", v.Name, r.ID)
		}
		rates, all = append(rates, r.OpsPerS), append(all, identity(r))
		v.runs = append(v.runs, r)
	}
	if len(rates) == 0 {
		return nil, fmt.Errorf("%s: no run is finished: there is nothing to compare", v.Name)
	}
	if differ := folder.Differences(all); len(differ) > 0 {
		return nil, fmt.Errorf("%s: its runs differ in %s: compare one configuration with another", v.Name, strings.Join(differ, ", "))
	}
	v.Estimate, _ = stats.MedianInterval(rates, 0.95)
	v.settings = all[0]
	return rates, nil
}

// String returns the comparison for people, in lines, the answer last.
func (c Comparison) String() string {
	var lines []string
	add := func(line string, args ...any) { lines = append(lines, fmt.Sprintf(line, args...)) }
	for i, variant := range []Variant{c.A, c.B} {
		add("%c  %s: ops/s %s", 'A'+i, variant.Name, variant.Estimate)
		if variant.Programs != "" {
			add("   %s", variant.Programs)
		}
	}
	if len(c.Differ) == 0 {
		add("the configurations are the same")
	}
	for _, differ := range c.Differ {
		add("they differ in %s", differ)
	}
	if text := c.Claimed(); text != "" {
		add("%s", text)
	}
	if text := metrics.UnlikeStores([]*metrics.Run{&c.A.runs[0].Run, &c.B.runs[0].Run}); text != "" {
		add("%s; state it beside a ranking", text)
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

// Claimed says which of the two is CLAIMED; "" if both are verified.
func (c Comparison) Claimed() string {
	var which []string
	for i, v := range []Variant{c.A, c.B} {
		if slices.ContainsFunc(v.runs, func(r *folder.Run) bool { return r.Verdict.Claimed }) {
			which = append(which, string(rune('A'+i))+" is CLAIMED")
		}
	}
	if len(which) == 0 {
		return ""
	}
	return strings.Join(which, ", ") + ": nobody has verified what a team's own programs say"
}

// Headline returns the answer in short, and what it is computed from.
func (c Comparison) Headline() (headline, basis string) {
	basis, _, headline = c.Results[0].sentences()
	return headline, basis
}

// Result says how one quantity of B compares with the same quantity of A.
type Result struct {
	stats.Comparison              // of B over A
	CostOf           metrics.Role // the quantity is the processor time per operation of this role; "": operations per second
	Paired           bool
	A, B             int       // values; equal numbers if they are paired
	confidence       float64   // of the interval that decides
	ratios           []float64 // of the pairs
}

// resultOf compares the values of A and B.
func resultOf(a, b []float64, how stats.Sampling, confidence float64) Result {
	r := Result{Comparison: stats.Compare(a, b, how), Paired: how == stats.Paired, A: len(a), B: len(b), confidence: confidence}
	for i := 0; r.Paired && i < len(a); i++ {
		r.ratios = append(r.ratios, b[i]/a[i])
	}
	return r
}

// What B is beside A, if its ratio is surely above or below 1.
var (
	rateWords = stats.Words[string]{Above: "B is faster", Below: "B is slower"}
	costWords = stats.Words[string]{Above: "B costs more", Below: "B costs less"}
)

// String says whether B is better or worse than A, or that they cannot be told apart.
func (r Result) String() string {
	basis, smallest, answer := r.sentences()
	switch {
	case basis == "":
		return answer
	case r.CostOf != "":
		return basis + "; " + smallest + "; " + answer
	}
	return basis + "; " + smallest + "\n" + answer
}

// sentences returns the ratio, the smallest difference that is seen, and the answer. Without
// an interval there is the answer alone.
func (r Result) sentences() (basis, smallest, answer string) {
	what, words := "", rateWords
	if r.CostOf != "" {
		what, words = fmt.Sprintf("processor time per operation, %ss: ", r.CostOf), costWords
	}
	switch {
	case r.A == 0:
		return "", "", what + "cannot tell: no pair of trials says what it used"
	case !r.Known && r.Paired:
		return "", "", what + fmt.Sprintf("cannot tell apart: B/A is %.3f, but with %s it has no interval, which needs %d",
			r.Ratio(), format.Plural(r.A, "pair"), stats.RatioTrials)
	case !r.Known:
		return "", "", what + fmt.Sprintf("cannot tell apart: B/A is %.3f, but with %d and %d trials it has no interval, which needs %d of each",
			r.Ratio(), r.A, r.B, stats.RatioTrials)
	}
	low, high := r.RatioInterval(r.confidence)
	basis = what + fmt.Sprintf("B/A is %.3f, %g %% interval %.3f to %.3f", r.Ratio(), 100*r.confidence, low, high)
	if r.Paired {
		basis += " (the mean of " + format.Plural(r.A, "pair") + ")"
	}
	smallest = r.SmallestPercent(r.confidence) + " is the smallest difference that 4 of 5 such comparisons see"
	is := words.Of(r.In(0, 0).Outcome(1 - r.confidence))
	if is == "" {
		return basis, smallest, "cannot tell apart: the interval holds 1"
	}
	by := []float64{100 * math.Abs(low-1), 100 * math.Abs(high-1)}
	return basis, smallest, fmt.Sprintf("%s, by %.1f to %.1f %%", is, slices.Min(by), slices.Max(by))
}

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
		variant.Programs = s.Variants[i].Instrument()
		if _, err := variant.add(format.Label(cmp.Or(s.Variants[i].Args, "no arguments"), 120), own); err != nil {
			return c, err
		}
	}
	a, b := pairs(trials, func(i int) float64 { return trials[i].OpsPerS })
	if len(a) == 0 {
		return c, fmt.Errorf("%s: no pair has two valid trials: there is nothing to compare", s.ID)
	}
	c.Results = []Result{resultOf(a, b, stats.Paired, 0.95)}
	if s.Together {
		c.Results = nil // each variant has the throughput that the other leaves it
		for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
			a, b := pairs(trials, func(i int) float64 { return s.Runs[i].CPUPerOp(role) })
			cost := resultOf(a, b, stats.Paired, stats.TogetherConfidence)
			cost.CostOf = role
			c.Results = append(c.Results, cost)
		}
	}
	c.Differ = differing(": ", c.A.settings, c.B.settings)
	return c, nil
}

// pairs returns a figure of the trials of A and B, in the order of their pairs. Only
// whole pairs count, and figures above 0. A pair is a block of the
// sweep's order: trials 1 and 2, 3 and 4, and so on.
func pairs(trials []metrics.Trial, figure func(i int) float64) (a, b []float64) {
	pairs := make(map[int][2]float64)
	for i, trial := range trials {
		pair := (trial.Number - 1) / len(metrics.VariantNames)
		both := pairs[pair]
		both[slices.Index(metrics.VariantNames, trial.Point[0])] = figure(i)
		pairs[pair] = both
	}
	for _, pair := range slices.Sorted(maps.Keys(pairs)) {
		if both := pairs[pair]; both[0] > 0 && both[1] > 0 {
			a, b = append(a, both[0]), append(b, both[1])
		}
	}
	return a, b
}
