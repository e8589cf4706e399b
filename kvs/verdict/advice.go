package verdict

import (
	"slices"
	"strings"

	"kvlab/metrics"
)

// IDs of what makes an entry of a class INVALID beside a run's verdict.
const (
	Memory   = "memory"   // its servers held more than the class allows
	Weakened = "weakened" // its run has a reservation that the class does not allow
)

// faults are the rows of what ends a run before it is judged: the kinds of plan.Fault, and
// of what a class does not allow.
var faults = []Check{
	{ID: "complaint", Meaning: "no process reports an error or breaks the protocol", Advice: "The process says what it cannot do: read its last lines. A call without a reply in time is a lock that is not released, a reply that is never sent, or work that grows with the number of keys."},
	{ID: "crash", Meaning: "no process ends before the run", Advice: "Your server crashed, or the system ended it because it needed more memory, processes or files than it may have: its last lines say which. Look for a panic, for concurrent map writes, and for memory that grows."},
	{ID: "hang", Meaning: "every process answers", Advice: "A process answers no more, or never became ready: look for a deadlock, for a loop without an end, and for an operation that waits for another client."},
	{ID: "bad-args", Meaning: "every program takes its flags", Advice: "Type the flag as the program's -help says."},
	{ID: "outside", Meaning: "nothing outside of the run ends it", Advice: "This is about the machine and not about your store: tell the instructor, who can measure again."},
	{ID: Memory, Meaning: "an entry's servers take no more memory than the class allows", Advice: "Look at what is stored for each key beside its value, at buffers for each connection, and at old versions that are kept."},
	{ID: Weakened, Meaning: "an entry's run has no reservation that the class does not allow", Advice: "If your store causes it, as when it closes connections, change that. Else tell the instructor."},
}

// ofStore are the rows that a store alone can fail: what it answered or kept is wrong, it has
// ended, or it takes too much. On a busy machine a right store is slow, and passes them.
var ofStore = []string{"replies", "server-counts", "store-counts", "load", "misses", "values", "linearizable", "audit", "fresh", "crash", Memory}

// OfStore reports whether the store alone can have made a run INVALID, so that a second run
// would show nothing else.
func OfStore(v metrics.Verdict) bool { return slices.Contains(ofStore, v.Check) }

// OfMachine reports whether a reservation is of the machine that measured: other work there,
// the drift of a rate, and what the preflight found.
func OfMachine(run metrics.Run, r Reservation) bool {
	return slices.Contains([]string{Crowded, Drifted, "DRIFT"}, r.Name) ||
		run.Preflight != nil && slices.ContainsFunc(run.Preflight.Findings, func(f metrics.Finding) bool { return f.Fact == r.Name })
}

// Advice says what to do about an INVALID verdict.
func Advice(v metrics.Verdict) string {
	all := slices.Concat(checks, faults)
	if i := slices.IndexFunc(all, func(c Check) bool { return c.ID == v.Check }); i >= 0 {
		return all[i].Advice
	}
	return "docs/measuring.md explains each check. Measure the same work in your own checkout. If that run is VALID, tell the instructor."
}

// Table is the table of checks in Markdown, with what ends a run before them.
func Table() string {
	var table strings.Builder
	table.WriteString("| check | of a VALID run | else |\n|---|---|---|\n")
	for _, c := range slices.Concat(checks, faults) {
		table.WriteString("| `" + strings.Join([]string{c.ID + "`", c.Meaning, c.Advice}, " | ") + " |\n")
	}
	return table.String()
}
