package experiment

import (
	"math/rand/v2"
	"slices"

	"kvlab/metrics"
)

// Most is the largest number of trials that --until makes of a point. An interval that is
// still wide then describes the machines, and further trials would not narrow it.
const Most = 30

// Order returns the trials of a plan in the order of their execution: Blocks with every
// point in each.
func Order(knobs []metrics.Knob, trials int, seed uint64) []metrics.PlannedTrial {
	points := metrics.Points(knobs)
	return Blocks(points, slices.Repeat([]int{trials}, len(points)), seed)
}

// Blocks returns the trials of points in the order of their execution. The first blocks
// have every point once, as many as it has trials, shuffled, so that slow changes of the
// machines meet all points alike. The order depends on the seed alone.
func Blocks(points [][]string, trials []int, seed uint64) (order []metrics.PlannedTrial) {
	for block := 0; ; block++ {
		var in [][]string
		for i, point := range points {
			if block < trials[i] {
				in = append(in, point)
			}
		}
		if len(in) == 0 {
			return order
		}
		order = append(order, Shuffle(in, seed, block, len(order)+1)...)
	}
}

// Shuffle returns one block: the points in random order, numbered from first.
func Shuffle(points [][]string, seed uint64, block, first int) []metrics.PlannedTrial {
	random := rand.New(rand.NewPCG(seed, uint64(block)))
	planned := make([]metrics.PlannedTrial, len(points))
	for i, at := range random.Perm(len(points)) {
		planned[i] = metrics.PlannedTrial{Number: first + i, Point: points[at]}
	}
	return planned
}

// nextTrials returns the remaining trials of the plan's order. After these, with --until, it
// returns the next block, which has the points with too wide an interval. At the end of the
// sweep it returns none. It depends on the finished trials, not on time, so that a resumed
// sweep continues exactly where it was cut.
func nextTrials(plan metrics.Sweep, done []metrics.Trial) []metrics.PlannedTrial {
	if left := missing(plan, plan.Order, done); len(left) > 0 || plan.Until == 0 {
		return left
	}
	first := len(plan.Order) + 1
	for block := plan.Trials; block < Most; block++ {
		var wide [][]string
		before := slices.DeleteFunc(slices.Clone(done), func(t metrics.Trial) bool { return t.Number >= first })
		for _, point := range metrics.Summarize(plan, before) {
			if !point.Met(plan.Until) {
				wide = append(wide, point.Values)
			}
		}
		if left := missing(plan, Shuffle(wide, plan.Seed, block, first), done); len(left) > 0 {
			return left
		}
		first += len(wide)
	}
	return nil
}

// missing returns the planned trials that are not done, or are to be made again. Of a pair
// that runs at the same time, both are.
func missing(plan metrics.Sweep, order []metrics.PlannedTrial, done []metrics.Trial) (left []metrics.PlannedTrial) {
	again := Again(done)
	step := 1
	if plan.Together {
		step = 2
	}
	for group := range slices.Chunk(order, step) {
		isDone := func(p metrics.PlannedTrial) bool {
			i := slices.IndexFunc(done, func(t metrics.Trial) bool { return t.Number == p.Number })
			return i >= 0 && !again[p.Number]
		}
		if slices.ContainsFunc(group, func(p metrics.PlannedTrial) bool { return !isDone(p) }) {
			left = append(left, group...)
		}
	}
	return left
}

// Again returns the numbers of the trials in done that are to be made again: those that
// broke for an outside reason, and those with a shorter window than others of their -secs, or
// with a larger batch than others of their default.
//
// A trial is never made again because of what it measured. If its rounds were too long for its
// window, all trials get a longer window or smaller rounds. The numbers depend only on done, so
// that a resumed experiment makes the same trials again.
func Again(done []metrics.Trial) map[int]bool {
	again := make(map[int]bool)
	for _, t := range done {
		if t.Broken() || t.Unequal(done) {
			again[t.Number] = true
		}
	}
	return again
}
