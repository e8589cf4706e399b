package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/plots/folder"
)

// Grade is the grade of a result on a scale, with its reasons.
type Grade struct {
	Given   bool    // if not, the only reason says why
	Percent float64 // 0 when no step is reached
	Reasons []string
}

// String returns the grade and its reasons, a line each, without a final line feed.
func (g Grade) String() string {
	if !g.Given {
		return "no grade: " + strings.Join(g.Reasons, "; ")
	}
	return fmt.Sprintf("grade %g %%\n  %s", g.Percent, strings.Join(g.Reasons, "\n  "))
}

// GradeFolder judges the folder of a run, or of a sweep with one point.
func (s *Scale) GradeFolder(dir string) (Grade, error) {
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
func (s *Scale) GradeRun(run metrics.Run) Grade {
	if !run.Verdict.Valid {
		return noGrade("the verdict is %s", run.Verdict)
	}
	if err := s.refuse(run, answer.Of(run).Caveats); err != nil {
		return noGrade("%v", err)
	}
	return s.judge([]float64{run.OpsPerS}, run.Lab)
}

// GradeTrials judges the trials of a sweep that has one point and has ended.
func (s *Scale) GradeTrials(sweep metrics.Sweep, trials []metrics.Trial) Grade {
	points := metrics.Summarize(sweep, trials)
	switch {
	case len(points) != 1:
		return noGrade("%d points, and a grade is of one: grade a run, or trials without --sweep", len(points))
	case len(trials) < len(sweep.Order):
		return noGrade("only %d of %d trials have ended, and to stop at a good one would pay: go on with --resume", len(trials), len(sweep.Order))
	case !points[0].OK():
		return noGrade("%d of %s failed, the first: %s",
			len(points[0].Failed), format.Plural(len(trials), "trial"), points[0].Failed[0].Verdict)
	}
	among := answer.OfTrials(sweep, trials).Caveats
	for _, trial := range points[0].Valid {
		run := metrics.Run{}
		if trial.Run != nil {
			run = *trial.Run
		}
		if err := s.refuse(run, slices.Concat(answer.Of(run).Caveats, among)); err != nil {
			return noGrade("trial %d: %v", trial.Number, err)
		}
	}
	return s.judge(points[0].Rates(), sweep.Lab)
}

func noGrade(format string, args ...any) Grade {
	return Grade{Reasons: []string{fmt.Sprintf(format, args...)}}
}

// refuse returns an error if a valid run has not measured the scale's work, or has a
// caveat that the scale does not allow. A scale without work allows all but QUICK.
func (s *Scale) refuse(run metrics.Run, caveats []answer.Caveat) error {
	for _, r := range caveats {
		if s.Work.Workload != "" && !slices.Contains(s.Work.Allow, r.Name) || r.Name == answer.Quick {
			return fmt.Errorf("the result has a caveat that %s does not allow, %s: %s", s.File, r.Name, r.Text)
		}
	}
	return s.Check(run.Workload)
}

// judge finds the step that the rates of valid trials reach.
func (s *Scale) judge(rates []float64, lab *metrics.Lab) Grade {
	bound, why := sure(rates)
	grade := Grade{Given: true, Reasons: []string{fmt.Sprintf("judged on %s ops/s: %s", format.Count(bound), why)}}
	steps, reached := s.Score.Steps, 0
	for reached < len(steps) && bound >= steps[reached].At {
		reached++
	}
	if reached == 0 {
		grade.Reasons = append(grade.Reasons, "no step is reached")
	} else {
		step := steps[reached-1]
		grade.Percent = step.Percent
		grade.Reasons = append(grade.Reasons, fmt.Sprintf("reached the step of %s ops/s, with %.1f %% to spare", format.Count(step.At), 100*(bound/step.At-1)))
	}
	if reached < len(steps) {
		next := steps[reached]
		grade.Reasons = append(grade.Reasons, fmt.Sprintf("the next, %s ops/s for %g %%, needs %.2f times as much", format.Count(next.At), next.Percent, next.At/bound))
	}
	if lab != nil {
		grade.Reasons = append(grade.Reasons, "measured in a "+lab.String()+": not a cluster's number")
	}
	return grade
}

// sure returns the throughput that a grade counts, and the reason. It is the lower end of the
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
