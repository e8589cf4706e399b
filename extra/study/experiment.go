package study

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kvlab/kvs/experiment"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
)

// Experiment is a sweep over the points of studies. Its result is the outcome of their
// claims.
type Experiment struct {
	experiment.Sweep
	Dir    string                          // its folder
	Length func(args string) time.Duration // estimates how long a trial takes with these launcher flags
}

// Of returns the experiment of a plan.
func Of(plan metrics.Sweep, dir string, length func(args string) time.Duration) Experiment {
	spec := func(point []string) experiment.Spec {
		at := slices.Index(plan.Knobs[0].Values, point[0])
		return experiment.Spec{Args: plan.Study.Points[at].Args, Where: "--study, " + metrics.PointKnob + " " + point[0]}
	}
	return Experiment{experiment.Sweep{Plan: plan, Spec: spec}, dir, length}
}

// Row gives the experiment of a study to a program that verifies folders.
func Row(dir string, plan metrics.Sweep) experiment.Experiment {
	if plan.Study == nil {
		return nil
	}
	return Of(plan, dir, nil)
}

// Planned completes a sweep's plan by the points of a study, with the number of trials of
// each.
func Planned(plan metrics.Sweep, study metrics.Study, trials []int) metrics.Sweep {
	knob := metrics.Knob{Name: metrics.PointKnob}
	var points [][]string
	for i, p := range study.Points {
		knob.Values, points = append(knob.Values, p.Name), append(points, []string{p.Name})
		plan.Trials = max(plan.Trials, trials[i])
	}
	plan.Study, plan.Knobs = &study, []metrics.Knob{knob}
	plan.Order = experiment.Blocks(points, trials, plan.Seed)
	return plan
}

// Minutes estimates how long the trials of a study take, if length does that of one.
func (f File) Minutes(quick bool, length func(args string) time.Duration) float64 {
	none := func(string) string { return "" }
	plan, trials := Plan([]File{f}, quick, 0, none, none)
	sum := 0.0
	for i, p := range plan.Points {
		sum += float64(trials[i]) * length(p.Args).Minutes()
	}
	return sum
}

// Missing lists the claims that are not tested here, a line each.
func Missing(study metrics.Study) string {
	var b strings.Builder
	for _, c := range study.Claims {
		if c.Cannot != "" {
			fmt.Fprintln(&b, format.Wrap(fmt.Sprintf("cannot test %s/%s: %s", c.Study, c.Name, c.Cannot), 0, 2))
		}
	}
	return b.String()
}

// Outline returns how many claims are tested, the time that it takes, and the order of the
// trials, for --dry-run.
func (e Experiment) Outline() string {
	left, lengths := time.Duration(0), make(map[string]time.Duration)
	for _, p := range e.Plan.Study.Points {
		lengths[p.Name] = e.Length(p.Args)
	}
	for _, planned := range e.Plan.Order {
		left += lengths[planned.Point[0]]
	}
	return fmt.Sprintf("%s of %s, at least %.1f minutes\n", format.Plural(len(e.Plan.Study.Claims), "claim"), strings.Join(e.Plan.Study.Names, ", "), left.Minutes()) +
		e.Sweep.Outline()
}

// Files returns the files of a sweep, and in the end the outcomes and study.md. An interrupted
// study has no outcome: looking several times is wrong more often than Alpha.
func (e Experiment) Files(done []metrics.Trial, ended bool) map[string]any {
	files := e.Sweep.Files(done, ended)
	if left, _ := e.Next(done); ended && len(left) == 0 {
		results := Decide(e.Plan, done)
		files[metrics.ClaimsFile], files["study.md"] = results, []byte(page(e.Plan, done, results))
	}
	return files
}

// Conclude returns the points' results and the table of claims, and the verdict on the
// trials, which says nothing of the claims.
func (e Experiment) Conclude(done []metrics.Trial, err error) experiment.Conclusion {
	end := e.Sweep.Conclude(done, err)
	if err != nil {
		return end
	}
	results := Decide(e.Plan, done)
	end.Brief = table(results)
	end.Full += end.Brief
	if end.Answer = answer.OfClaims(e.Plan, done, results); end.Answer.Good {
		end.Answer.Next = "read " + filepath.Join(e.Dir, "study.md") + " for the figures of each claim"
	}
	return end
}
