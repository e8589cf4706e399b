package study

import (
	"fmt"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// trialsOf are the trials of a study by point and round. The n-th trial of a point in the
// plan's order is of round n.
type trialsOf map[string]map[int]metrics.Trial

func roundsOf(plan metrics.Sweep, done []metrics.Trial) trialsOf {
	made := make(map[int]metrics.Trial)
	for _, t := range done {
		made[t.Number] = t
	}
	all, round := make(trialsOf), make(map[string]int)
	for _, p := range plan.Order {
		name := p.Point[0]
		if all[name] == nil {
			all[name] = make(map[int]metrics.Trial)
		}
		if t, ok := made[p.Number]; ok {
			all[name][round[name]] = t
		}
		round[name]++
	}
	return all
}

// samples returns the values of a claim's points in the rounds in which all of them have one,
// in the order of the points. If too many trials of a point have none, reason says why.
func (all trialsOf) samples(c metrics.Claim) (values [][]float64, reason string) {
	m, err := measureOf(c.Measure)
	if err != nil {
		return nil, err.Error() // of a later release
	}
	values = make([][]float64, len(c.Points))
	rounds := 0
	for i, name := range c.Points {
		n, lost, why := len(all[name]), 0, ""
		for round, t := range all[name] {
			rounds = max(rounds, round+1)
			switch {
			case !t.Verdict.Valid:
				lost, why = lost+1, t.Verdict.Reason
			case m.of(t) <= 0:
				lost, why = lost+1, "no "+m.Name
			}
		}
		if lost > 0 { // as for a sweep's point
			return values, fmt.Sprintf("%d of the %s of %s cannot be used: %s", lost, format.Plural(n, "trial"), c.Points[i], why)
		}
	}
	for round := range rounds {
		of := make([]float64, len(c.Points))
		for i, name := range c.Points {
			if t := all[name][round]; t.Verdict.Valid {
				of[i] = m.of(t)
			}
		}
		if slices.Min(of) > 0 {
			for i, v := range of {
				values[i] = append(values[i], v)
			}
		}
	}
	return values, ""
}
