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

// Again compares the figures of a folder with those of the folder of a rerun, within a margin
// that is a share. It fills in what the folders say. A figure of the first folder that is
// missing in the second cannot be compared.
func Again(first, second string, margin float64) (r metrics.Rerun, err error) {
	r.Margin = margin
	var runs [2][]*folder.Run
	var figures [2][]Figure
	for i, dir := range []string{first, second} {
		if runs[i], err = folder.LoadRuns([]string{dir}); err == nil {
			figures[i], err = Figures(dir)
		}
		if err != nil {
			return r, err
		}
	}
	if err := checkRanked(slices.Concat(runs[:]...)); err != nil {
		r.Note = err.Error()
		return r, nil
	}
	is := figures[1]
	for _, f := range figures[0] {
		i := slices.IndexFunc(is, func(other Figure) bool { return other.Name == f.Name })
		if i < 0 {
			is, i = append(is, Figure{Text: "no such figure"}), len(is)
		}
		r.Figures = append(r.Figures, f.agree(is[i], margin))
	}
	if r.Outcome() != metrics.Agrees {
		r.Differ = unlike(sample(runs[0]), sample(runs[1]))
	}
	return r, nil
}

// agreeWords say whether a figure agrees, againWords where it lies.
var (
	agreeWords = stats.Words[metrics.AgreementClass]{Inside: metrics.Agrees, Below: metrics.Differs, Above: metrics.Differs, Undecided: metrics.Undecided}
	againWords = stats.Words[string]{Inside: "within", Below: "outside", Above: "outside", Undecided: "may or may not be within"}
)

// agree compares a figure with the same figure of the rerun.
func (f Figure) agree(now Figure, margin float64) metrics.Agreement {
	a := metrics.Agreement{Figure: f.Name, Before: f.Text, Now: now.Text, Outcome: metrics.Undecided}
	end := math.Log1p(margin)
	switch {
	case f.outcome != "":
		a.Reason = fmt.Sprintf("it was %s and is %s", f.outcome, cmp.Or(now.outcome, "unknown"))
		if told := f.outcome != metrics.CannotTell && now.outcome != metrics.CannotTell && now.outcome != ""; f.outcome == now.outcome {
			a.Outcome = metrics.Agrees
		} else if told {
			a.Outcome = metrics.Differs
		}
	case len(f.values) > 0 && len(now.values) > 0:
		t := stats.Compare(f.values, now.values, stats.Again).In(-end, end)
		a.Ratio = t.Ratio()
		if !t.Known {
			a.Reason = fmt.Sprintf("now/before is %.3f, without an interval, which needs %d trials of one of them", a.Ratio, stats.RatioTrials)
			break
		}
		a.Low, a.High = t.RatioInterval(0.95)
		a.Low90, a.High90 = t.RatioInterval(0.9)
		if decide(&a, t.Outcome(alpha), margin); a.Outcome == metrics.Undecided {
			words := ""
			a.Needed, words = needed(t)
			a.Reason += "; needs " + words
		}
	case f.Low > 0 && f.High > 0 && now.Low > 0 && now.High > 0: // wider than an interval of the ratio
		a.Ratio, a.Low, a.High = math.Sqrt(now.Low/f.High*now.High/f.Low), now.Low/f.High, now.High/f.Low
		a.Low90, a.High90 = a.Low, a.High
		decide(&a, stats.Between(math.Log(a.Low), math.Log(a.High), -end, end), margin)
	default:
		a.Reason = "one of them has no valid value"
	}
	return a
}

// alpha is the probability that a figure at the end of the margin agrees, or that one within
// it differs.
const alpha = 0.05

// needed returns how many trials of each would decide a test, 0 for more than 1000, and the
// same as a phrase.
func needed(t stats.RangeTest) (int, string) {
	if n := stats.RoundsNeeded([]stats.RangeTest{t}, alpha, alpha); n > 0 {
		return n, fmt.Sprintf("about %d trials of each", n)
	}
	return 0, "more than 1000 trials of each"
}

// decide sets the outcome, and the reason, with the interval that shows it: of what differs
// 95 %, otherwise the 90 % of two one-sided tests of 5 % (stats.RangeTest).
func decide(a *metrics.Agreement, outcome stats.Outcome, margin float64) {
	share, low, high := 90, a.Low90, a.High90
	if a.Outcome = agreeWords.Of(outcome); a.Outcome == metrics.Differs {
		share, low, high = 95, a.Low, a.High
	}
	a.Reason = fmt.Sprintf("now/before is %.3f, %d %% interval %.3f to %.3f, %s %.3f to %.3f", a.Ratio, share, low, high, againWords.Of(outcome), 1/(1+margin), 1+margin)
}

// sample returns the first valid run, or else the first run; nil for none.
func sample(runs []*folder.Run) *folder.Run {
	for _, r := range runs {
		if r.Verdict.Stands() {
			return r
		}
	}
	if len(runs) == 0 {
		return nil
	}
	return runs[0]
}

// unlike lists the differences of two runs that may explain other figures: in the
// configuration, the machines, their settings and the programs, in this order.
func unlike(before, now *folder.Run) (all []string) {
	if before == nil || now == nil {
		return nil
	}
	a, b := facts(before), facts(now)
	for i := range a {
		if i > 0 { // what one of them has not recorded says nothing
			maps.DeleteFunc(a[i], func(name, _ string) bool { return b[i][name] == "" })
			maps.DeleteFunc(b[i], func(name, _ string) bool { return a[i][name] == "" })
		}
		all = append(all, differing(": ", a[i], b[i])...)
	}
	return all
}

// facts returns what a run was made with, the most telling first.
func facts(r *folder.Run) (all [4]map[string]string) {
	for i := range all {
		all[i] = make(map[string]string)
	}
	for name, value := range identity(r) {
		at := 0
		switch name {
		case "machines", "nodes":
			at = 1
		case "git commit":
			at = 3
		}
		all[at][name] = value
	}
	each := func(at int, name, value string) {
		if values := strings.Split(all[at][name], " | "); !slices.Contains(values, value) {
			all[at][name] = strings.Join(format.NonEmpty(append(values, value)...), " | ")
		}
	}
	if r.Preflight != nil {
		for _, m := range r.Preflight.Machines {
			if m.Facts == nil {
				continue
			}
			each(1, "data link", fmt.Sprintf("%d Mb/s, MTU %d", m.Facts.Data.BitsPerS/1e6, m.Facts.Data.MTUBytes))
			for name, value := range m.Facts.Traits {
				each(2, name, value)
			}
			for _, s := range m.Facts.Settings {
				name, _, _ := strings.Cut(s.Name, " ") // rings has its interface
				each(2, name, s.Value)
			}
		}
	}
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		if config := r.Config(role); config != nil {
			each(3, string(role)+"s' program", fmt.Sprintf("%.16s", config.Binary))
		}
	}
	return all
}
