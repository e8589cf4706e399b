package experiment

import "kvlab/metrics"

// Again returns the numbers of the trials in done that are to be made again: those that
// broke for an outside reason.
//
// A trial is never made again because of what it measured. So it depends only on done, and
// a resumed experiment makes the same trials again.
func Again(done []metrics.Trial) map[int]bool {
	again := make(map[int]bool)
	for _, t := range done {
		if t.Broken() {
			again[t.Number] = true
		}
	}
	return again
}
