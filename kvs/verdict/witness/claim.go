package witness

import (
	"math"
	"slices"

	"kvlab/metrics/format"
)

// drift is the most by which a clock's rate is off: NTP corrects 500 parts in a million at most
// (RFC 5905, section 11.3), on each machine.
const drift = 1 + 2*500e-6

// stretch returns the shortest time that a client may measure, in seconds: half of its run.
func (j *judged) stretch() float64 {
	if secs := j.asked.Secs; secs > 0 && secs < j.span() {
		return secs / 2
	}
	return j.span() / 2
}

// bounds returns the least and the highest rate that a client may claim which counts right,
// whatever part of its run it measures: half of it or more. A client that measures all of it
// divides by the time that its process runs at most, and by the time from its first call to its
// last at least. If nobody tells how long its process ran, nothing is too little. The clients need
// not begin together: each connection's own rates add up, too.
func (j *judged) bounds() (least, most float64) {
	n, width := float64(j.ops()), float64(j.slots.WidthNs)/1e9
	most = n / j.span()
	sum := 0.0
	for _, s := range j.servers {
		sum += s.Witness.ConnRate
	}
	most = max(most, sum)
	idle := int(max(0, j.claim.RanS-j.span())/width) + 1 // slots before the first call, or after the last
	if least = n / j.claim.RanS; j.claim.RanS == 0 || idle > len(j.slots.Counts) {
		least, idle = 0, 0
	}
	counts := slices.Concat(make([]uint64, idle), j.slots.Counts, make([]uint64, idle))
	before := []uint64{0} // operations before each slot
	for _, c := range counts {
		before = append(before, before[len(before)-1]+c)
	}
	// A stretch of m slots' length has all of m-1 slots, and parts of m+1.
	for m := max(2, int(j.stretch()/width)); m <= len(j.slots.Counts)+idle; m++ {
		for i := 0; i+m-1 < len(before); i++ {
			least = min(least, float64(before[i+m-1]-before[i])/(float64(m)*width))
			most = max(most, float64(before[min(i+m+1, len(before)-1)]-before[i])/(float64(m)*width))
		}
	}
	return least / drift, most * drift
}

// above reports whether the client claims more than was executed.
func (j *judged) above() bool {
	_, most := j.bounds()
	return j.claimed && (j.claim.OpsPerS > most || j.claim.Ops > j.ops())
}

func checkCounted(j *judged) finding {
	_, most := j.bounds()
	switch answered := j.ops() - j.unansweredOps; {
	case !j.claimed:
		return inapplicable("the client claims nothing")
	case j.above() && j.unanswered > 0:
		return failed("", "it %s: it counts operations before they are done, and left %s unanswered", j.says(), format.Plural(j.unanswered, "call"))
	case j.above():
		return failed("", "it %s: it counts operations before they are done, and never sends them all", j.says())
	case j.claim.Ops > answered:
		return failed("", "it counts %d operations; %d were executed and answered: it counts operations before they are done", j.claim.Ops, answered)
	}
	return passed("claims %s ops/s, at most %s", format.Count(j.claim.OpsPerS), format.Count(most))
}

func checkUncounted(j *judged) finding {
	least, _ := j.bounds()
	switch {
	case !j.claimed:
		return inapplicable("the client claims nothing")
	case j.claim.OpsPerS >= least:
		return passed("claims %s ops/s, at least %s", format.Count(j.claim.OpsPerS), format.Count(least))
	}
	of, counted := "", j.rate()/j.claim.OpsPerS
	if workers := j.asked.Clients * j.asked.Workers; workers > 1 && math.Round(counted) == float64(workers) {
		of = ", as if one goroutine of them counted"
	}
	return failed("", "it %s: it counts one operation in %s of those of %s%s", j.says(), format.Count(counted), format.Plural(j.connections, "connection"), of)
}

func checkUnanswered(j *judged) finding {
	left := uint64(0)
	for _, s := range j.servers {
		left += s.Witness.Left
	}
	if j.unanswered > 0 {
		return doubted("it closed %d of %d connections with %s in flight, of %s: it does not wait for every reply (fire and forget?)",
			left, j.connections, format.Plural(j.unanswered, "call"), format.Plural(j.unansweredOps, "operation"))
	}
	return passed("every call was answered before its connection ended")
}
