package folder

import (
	"fmt"
	"maps"
	"strings"

	"kvlab/metrics/format"
)

// Describe is a sweep in one line: work, trials, how sure it is.
func (s *Sweep) Describe() string {
	var parts []string
	if r := s.sample(); r != nil {
		fixed := maps.Clone(r.Workload)
		for _, knob := range s.Knobs {
			if len(knob.Values) > 1 {
				delete(fixed, knob.Name)
			}
		}
		if work := DescribeWork(fixed); work != "" {
			parts = append(parts, work)
		}
		switch {
		case len(s.Points) == 1:
			parts = append(parts, DescribeTopology(r.Run))
		case r.Symmetric:
			parts = append(parts, "symmetric")
		}
		if r.Lab != nil {
			parts = append(parts, r.Lab.String())
		}
	}
	parts = append(parts, s.Progress())
	if fewest := s.fewest(); fewest > 0 && fewest < 6 {
		parts = append(parts, fmt.Sprintf("fewer than 6 valid trials have no interval (the fewest here: %d)", fewest))
	}
	if s.ID != "" {
		parts = append(parts, "sweep "+s.ID)
	}
	return format.Label(strings.Join(parts, " · "), 300)
}

// sample is the run of the first point that has one; nil for none.
func (s *Sweep) sample() *Run {
	for _, point := range s.Points {
		if point.Run != nil {
			return point.Run
		}
	}
	return nil
}

// Progress is the number of trials, as in "3/6 trials" if some have not ended.
func (s *Sweep) Progress() string {
	if done, planned := len(s.Trials), len(s.Order); done < planned {
		return fmt.Sprintf("%d/%d trials", done, planned)
	}
	return format.Plural(len(s.Trials), "trial")
}

// fewest is the smallest number of valid trials that a point with a result has;
// 0 without results.
func (s *Sweep) fewest() int {
	fewest := 0
	for _, point := range s.Points {
		if n := len(point.Valid); point.OK() && (fewest == 0 || n < fewest) {
			fewest = n
		}
	}
	return fewest
}

// FailureWords names the trials that are not valid; "" for none.
func (s *Sweep) FailureWords() string {
	failed := s.Failed()
	if len(failed) == 0 {
		return ""
	}
	var each []string
	for _, trial := range failed {
		each = append(each, s.TrialName(trial)+": "+InvalidReason(trial.Verdict))
	}
	return format.Label(fmt.Sprintf("%d of %s not valid, never a data point: %s", len(failed), format.Plural(len(s.Trials), "trial"), strings.Join(each, "; ")), 400)
}
