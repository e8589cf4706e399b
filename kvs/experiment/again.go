package experiment

import "kvlab/metrics"

// Again returns the numbers of the trials in done that are to be made again: those that
// broke for an outside reason, and those with a shorter window than others of their -secs, or
// with a larger batch than others of their default.
//
// A trial is never made again because of what it measured: where its rounds were too long
// for its window, all trials get a longer one, or smaller rounds. The numbers depend only on done, so that a
// resumed experiment makes the same trials again.
func Again(done []metrics.Trial) map[int]bool {
	again := make(map[int]bool)
	for _, t := range done {
		if t.Broken() || t.Unequal(done) {
			again[t.Number] = true
		}
	}
	return again
}
