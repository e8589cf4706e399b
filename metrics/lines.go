package metrics

import "fmt"

// Lines is the interval as a node's log shows it, each second, in the form that
// the labs' report-tput.py reads: every line with "ops/s" in it is a sample, its
// second word the rate. No other line of a log may hold that word.
//
// The two parts add up to the whole: a read-modify-write counts once in ops/s,
// and shows under put/s because it leaves a new value behind.
func (i Interval) Lines() string {
	rate := func(n uint64) float64 { return PerSecond(float64(n), i.LengthS) }
	return fmt.Sprintf("get/s %0.2f\nput/s %0.2f\nops/s %0.2f\n\n",
		rate(i.Counts.Gets), rate(i.Counts.Puts+i.Counts.ReadModifyWrites), i.OpsPerS())
}
