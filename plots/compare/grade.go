package compare

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Grade is the grade of a result on a scale, with reasons.
type Grade struct {
	Given   bool    // if not, the only reason says why
	Percent float64 // 0 when no step is reached
	Reasons []string
}

// String is the grade and its reasons, a line each, without a final line feed.
func (g Grade) String() string {
	if !g.Given {
		return "no grade: " + strings.Join(g.Reasons, "; ")
	}
	return fmt.Sprintf("grade %g %%\n  %s", g.Percent, strings.Join(g.Reasons, "\n  "))
}

// GradeFolder judges a run's folder, or that of a sweep with one point.
func (s Scale) GradeFolder(dir string) (Grade, error) {
	if folder.IsSweep(dir) {
		sweep, err := folder.LoadSweep(dir)
		if err != nil {
			return Grade{}, err
		}
		return s.GradeTrials(sweep.Sweep, sweep.Trials), nil
	}
	run, err := folder.Load(dir)
	if err != nil {
		return Grade{}, err
	}
	return s.GradeRun(run.Run), nil
}

// GradeRun judges one run.
func (s Scale) GradeRun(run metrics.Run) Grade {
	if !run.Verdict.Valid {
		return noGrade("the verdict is %s", run.Verdict)
	}
	return s.judge([]float64{run.OpsPerS}, run.Lab)
}

// GradeTrials judges the trials of a sweep that has one point and has ended.
func (s Scale) GradeTrials(sweep metrics.Sweep, trials []metrics.Trial) Grade {
	points := metrics.Summarize(sweep, trials)
	switch {
	case len(points) != 1:
		return noGrade("%d points, and a grade is of one: grade a run, or trials without --sweep", len(points))
	case len(trials) < len(sweep.Order):
		return noGrade("only %d of %d trials have ended, and to stop at a good one would pay: go on with --resume", len(trials), len(sweep.Order))
	case !points[0].OK():
		return noGrade("%d of %s failed, and at most one in five may; the first: %s",
			len(points[0].Failed), format.Plural(len(trials), "trial"), points[0].Failed[0].Verdict)
	}
	grade := s.judge(points[0].Rates(), sweep.Lab)
	if n := len(points[0].Failed); n > 0 {
		grade.Reasons = append(grade.Reasons, fmt.Sprintf("%d of %s failed and left out", n, format.Plural(len(trials), "trial")))
	}
	return grade
}

func noGrade(format string, args ...any) Grade {
	return Grade{Reasons: []string{fmt.Sprintf(format, args...)}}
}

// judge finds the step that the rates of valid trials reach.
func (s Scale) judge(rates []float64, lab *metrics.Lab) Grade {
	bound, why := sure(rates)
	grade := Grade{Given: true, Reasons: []string{fmt.Sprintf("judged on %s ops/s: %s", format.Count(bound), why)}}
	reached := 0
	for reached < len(s) && bound >= s[reached].OpsPerS {
		reached++
	}
	if reached == 0 {
		grade.Reasons = append(grade.Reasons, "no step is reached")
	} else {
		step := s[reached-1]
		grade.Percent = step.Percent
		grade.Reasons = append(grade.Reasons, fmt.Sprintf("reached the step of %s ops/s, with %.1f %% to spare", format.Count(step.OpsPerS), 100*(bound/step.OpsPerS-1)))
	}
	if reached < len(s) {
		next := s[reached]
		grade.Reasons = append(grade.Reasons, fmt.Sprintf("the next, %s ops/s for %g %%, needs %.2f times as much", format.Count(next.OpsPerS), next.Percent, next.OpsPerS/bound))
	}
	if lab != nil {
		grade.Reasons = append(grade.Reasons, "measured in a "+lab.String()+": not a cluster's number")
	}
	return grade
}

// sure is the throughput that a grade counts, and the reason: the lower end of the
// median's 95 % interval. Fewer than 6 trials have no interval, and their lowest
// counts: the true median is above the lowest of n with probability 1 - 2^-n. One
// trial counts as it is.
func sure(rates []float64) (float64, string) {
	estimate, bounded := stats.MedianInterval(rates, 0.95)
	switch {
	case bounded:
		return estimate.Low, fmt.Sprintf("the lower end of the %.1f %% interval of %d trials, whose median is %s",
			100*estimate.Coverage, estimate.N, format.Count(estimate.Median))
	case len(rates) == 1:
		return rates[0], "one trial, no interval; 6 trials would have one"
	}
	return slices.Min(rates), fmt.Sprintf("the lowest of %d trials, which lies below their true median with %.1f %%; a 95 %% interval needs 6",
		len(rates), 100*(1-math.Pow(2, -float64(len(rates)))))
}

// Scale says which throughput earns which grade.
type Scale []Step

// Step is one line of a scale: a throughput and the grade for reaching it.
type Step struct {
	OpsPerS float64 // above 0, and above that of the step before
	Percent float64 // 0 to 100, not below that of the step before
}

const scaleForm = "want operations per second and per cent, as in 0.4M 80 %"

// ReadScale reads a scale's file: a step a line, in ascending order; the number of
// operations per second may end in k, M or G, and # begins a comment. Errors name
// file and line.
func ReadScale(path string) (Scale, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseScale(path, string(text))
}

func parseScale(name, text string) (Scale, error) {
	var scale Scale
	var before Step
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		step, err := parseStep(line)
		switch {
		case err != nil:
		case step.OpsPerS <= before.OpsPerS:
			err = fmt.Errorf("%g ops/s do not lie above %g, the step before", step.OpsPerS, before.OpsPerS)
		case step.Percent < before.Percent:
			err = fmt.Errorf("%g %% lie below %g %%, the step before", step.Percent, before.Percent)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
		scale, before = append(scale, step), step
	}
	if len(scale) == 0 {
		return nil, fmt.Errorf("%s: no step: %s", name, scaleForm)
	}
	return scale, nil
}

// parseStep reads one line.
func parseStep(text string) (Step, error) {
	words := strings.Fields(strings.Replace(text, "%", " ", 1))
	if len(words) != 2 {
		return Step{}, fmt.Errorf("%q: %s", format.Label(strings.TrimSpace(text), 40), scaleForm)
	}
	rate, ok := format.ParseCount(words[0])
	if !ok {
		return Step{}, fmt.Errorf("%q is no number of operations per second: %s", words[0], scaleForm)
	}
	percent, err := strconv.ParseFloat(words[1], 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return Step{}, fmt.Errorf("%q is no grade from 0 to 100 per cent: %s", words[1], scaleForm)
	}
	return Step{OpsPerS: rate, Percent: percent}, nil
}
