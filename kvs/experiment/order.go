package experiment

import (
	"math/rand/v2"
	"slices"

	"kvlab/metrics"
)

// Most is how many trials --until makes of a point at most: an interval that is
// still wide then says more of the machines than further trials would.
const Most = 30

// Order returns the trials of a plan in the order of their execution: in blocks,
// each of which has every point once, shuffled. So whatever changes slowly on the
// machines meets all points alike. The seed decides, and nothing else.
func Order(knobs []metrics.Knob, trials int, seed uint64) []metrics.PlannedTrial {
	var order []metrics.PlannedTrial
	for block := range trials {
		order = append(order, shuffle(metrics.Points(knobs), seed, block, len(order)+1)...)
	}
	return order
}

// shuffle is one block: the points in random order, numbered from first on.
func shuffle(points [][]string, seed uint64, block, first int) []metrics.PlannedTrial {
	random := rand.New(rand.NewPCG(seed, uint64(block)))
	planned := make([]metrics.PlannedTrial, len(points))
	for i, at := range random.Perm(len(points)) {
		planned[i] = metrics.PlannedTrial{Number: first + i, Point: points[at]}
	}
	return planned
}

// nextTrials returns the trials that are still to be made after those that are done:
// what is left of the plan's order, and after it, with --until, what is left of
// the next block, which has the points that are not known well enough. None
// means that the sweep has ended. What is done decides, not when it was, so
// that a resumed sweep goes on exactly where it was cut.
func nextTrials(plan metrics.Sweep, done []metrics.Trial) []metrics.PlannedTrial {
	if left := missing(plan.Order, done); len(left) > 0 || plan.Until == 0 {
		return left
	}
	first := len(plan.Order) + 1
	for block := plan.Trials; block < Most; block++ {
		var vague [][]string
		for _, point := range metrics.Summarize(plan, before(done, first)) {
			if !point.Met(plan.Until) {
				vague = append(vague, point.Values)
			}
		}
		if left := missing(shuffle(vague, plan.Seed, block, first), done); len(left) > 0 {
			return left
		}
		first += len(vague)
	}
	return nil
}

// missing returns the planned trials that are not done.
func missing(order []metrics.PlannedTrial, done []metrics.Trial) []metrics.PlannedTrial {
	made := make(map[int]bool)
	for _, trial := range done {
		made[trial.Number] = true
	}
	return slices.DeleteFunc(slices.Clone(order), func(p metrics.PlannedTrial) bool { return made[p.Number] })
}

// before returns the trials with numbers below first.
func before(trials []metrics.Trial, first int) []metrics.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t metrics.Trial) bool { return t.Number >= first })
}
