package study

import (
	"cmp"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Plan returns the claims of studies, and the points that test them with the number of
// trials of each. A claim is not tested if a point needs what is missing, or if its merged
// arguments do not fit the machines; both functions return the reason. A point without a
// claim is not measured. Points with the same arguments are one, which has the name of the
// first. rounds is the number of trials of every point; 0 takes that of the form.
func Plan(files []File, quick bool, rounds int, missing, fits func(text string) string) (plan metrics.Study, trials []int) {
	plan.Quick, plan.Alpha = quick, 1
	for _, f := range files {
		plan.Names, plan.Alpha = append(plan.Names, f.Name), min(plan.Alpha, f.Alpha)
		form := f.form(quick)
		names := make(map[string]string) // in the plan, by those in the file
		for _, c := range f.Claims {
			claim := metrics.Claim{Study: f.Name, Name: c.Name, Text: c.Text, Source: cmp.Or(c.Source, f.Source), Kind: c.Kind,
				Points: slices.Clone(c.Points), Sizes: c.Sizes, Measure: cmp.Or(c.Measure, Measures[0].Name), Value: c.Value, Tolerance: float64(c.Tolerance), Cannot: c.Cannot}
			if claim.Cannot == "" {
				claim.Cannot = f.cannot(c, quick, missing, fits)
			}
			for i, name := range claim.Points {
				if claim.Cannot == "" {
					if names[name] == "" {
						names[name] = add(&plan, &trials, f.Name, name, f.args(name, quick), cmp.Or(rounds, form.Rounds))
					}
					claim.Points[i] = names[name]
				}
			}
			plan.Claims = append(plan.Claims, claim)
		}
	}
	return plan, trials
}

func (f File) form(quick bool) Form {
	if quick {
		return f.Quick
	}
	return f.Full
}

// cannot says why the points of a claim cannot be measured; "" if they can.
func (f File) cannot(c Claim, quick bool, missing, fits func(text string) string) string {
	var reasons []string
	add := func(reason string) {
		if reason != "" && !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	for _, name := range c.Points {
		for _, need := range f.Points[slices.Index(pointNames(f.Points), name)].Needs {
			add(missing(need))
		}
		if len(reasons) == 0 {
			add(fits(f.args(name, quick)))
		}
	}
	return strings.Join(reasons, "; ")
}

// args returns the merged arguments of a point.
func (f File) args(point string, quick bool) string {
	text, _ := merge(f.Args, f.form(quick).Args, f.Points[slices.Index(pointNames(f.Points), point)].Args) // check has seen them
	return text
}

// add adds a point to a plan, unless one with its arguments is there, and returns its name.
func add(plan *metrics.Study, trials *[]int, study, name, args string, rounds int) string {
	if i := slices.IndexFunc(plan.Points, func(p metrics.StudyPoint) bool { return p.Args == args }); i >= 0 {
		(*trials)[i] = max((*trials)[i], rounds)
		return plan.Points[i].Name
	}
	if slices.ContainsFunc(plan.Points, func(p metrics.StudyPoint) bool { return p.Name == name }) {
		name = study + "/" + name
	}
	plan.Points, *trials = append(plan.Points, metrics.StudyPoint{Name: name, Args: args}), append(*trials, rounds)
	return name
}

// merge joins texts of arguments. The words before the first flag, the numbers of servers and
// clients, come from the last text that has any. A later flag wins.
func merge(texts ...string) (string, error) {
	var first, flags []string
	for _, text := range texts {
		words, err := cli.SplitWords(text)
		if err != nil {
			return "", err
		}
		n := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") })
		if n < 0 {
			n = len(words)
		}
		if n > 0 {
			first = words[:n]
		}
		flags = append(flags, words[n:]...)
	}
	return format.CommandLine(append(slices.Clone(first), flags...)), nil
}
