package verdict

import (
	"fmt"
	"slices"
	"strings"

	"kvlab/kvs/verdict/transactions"
	"kvlab/metrics"
)

// Check is a row of the table of checks.
type Check struct {
	ID      string // stable, such as "little"; metrics.Verdict.Check names the row that failed
	Meaning string // what holds of a run that passes, as one sentence
	Advice  string // what to do when it fails, as one line
	Func    func(*judged) finding
}

// IDs of rows that others ask for.
const (
	Ceiling  = "ceiling"  // of a run that passes every row above it, without a store
	Injected = "injected" // of one that passes every other row, with kvsserver -inject
)

// Advice of several rows.
const (
	lost    = "Keys that were stored could not be found: look for eviction, expiry, a table of fixed size, deletes of other keys, and servers that mix up whose keys they have."
	counted = "Counts of servers and clients differ: look for operations that are executed twice, skipped, or answered without being executed, and for what is counted before it is done."
	wrong   = "A value was not the one that was written under its key: look for buffers that are used again while a reply needs them, for races of reads and writes, and for values that are cut or made up."
	slow    = "A few calls fill the window: measure longer, with --secs or more --ops, take a smaller --batch, or find out where the store's time goes, for example with -cpuprofile."
	drawn   = "The client did other work than its flags say: look at its generator, at how it fills batches, and at its routing; kvlab's own client passes."
	watched = "The client's account of its time or counts is wrong: look at what it counts and when; kvlab's own client passes."
)

// checks is the table of checks. The first row that fails gives the verdict, so the more
// specific ones come first. A run without a store must pass all that stand above Ceiling.
var checks = []Check{
	{"reports", "every node reports", "A process ended early, or answers no more: read its log.", checkReports},
	{"accounts", "the nodes report what the other checks need", watched, checkAccounts},
	{"clock-rate", "each node's clocks advance as the launcher's", "The node's time is wrong: look at its machine's clock source, and at what its program takes the time from.", checkClocks},
	{"replies", "every reply that is checked is right", wrong, checkReplies},
	{"replayed", "the operations of a replay are the trace's, kind by kind", "Offer the operations at the trace's times, with --rate 1x or 50x, so that workers keep step. If counts differ, look at how the client replays: kvlab's own client passes.", checkReplayed},
	{"stages", "the operations of each stage of -rate are those of its level", drawn, checkStages},
	{"window", "the clients measure at the same time, and something", "Look why a client began late, or measure longer, with --secs.", checkWindow},
	{"strangers", "nobody else writes to a store", "End what else writes to the servers.", checkStrangers},
	{"totals", "a node's counts by peer add up to its total", counted, checkTotals},
	{"unknown", "the outcome of an operation is unknown only because the launcher killed its server", "The server's process ended before the run did: read its last lines, and run the same work until it survives.", checkUnknown},
	{"restarted", "the two processes of a killed server apply between what the clients verify and what they send", counted, checkRestarted},
	{"transactions", "attempts are commits, aborts and unknown, and servers count the commits that clients count", "A count of transactions is wrong: look for aborts that count as commits, and commits that count at each server, twice, or before the decision.", func(run *judged) finding { return finding(transactions.Judge(run.Run)) }},
	{"server-counts", "each client verifies what each server applies for it, kind by kind", counted, checkPairs},
	{"store-counts", "a foreign store's own counters say that it executes what the clients verify", counted, checkExecuted},
	{"workers", "every operation that a worker draws is done once, and no two workers draw the same", drawn, checkWorkers},
	{"ops", "a run that ends with its operations has exactly as many, each worker its share", drawn, checkOps},
	{"scans", "every scan asks each server once", "A scan must return the keys in order, each once, and none may be missing: look at where it begins, at its limit, and at writes while it runs.", checkScans},
	{"sessions", "a client has the connections that its flags ask for, with their protocol, and each carries the operations of its workers", drawn, checkSessions},
	{"load", "every record is loaded and read back, and the servers hold what was loaded and inserted", lost, checkLoad},
	{"mix", "each kind has its share of the operations", drawn, checkMix},
	{"keys", "each server and each group of keys has its share of the operations", drawn, checkKeys},
	{"successors", "successive operations are on one key as often as independent draws", drawn, checkSuccessors},
	{"ranks", "the records of every range of popularity have their share of the operations", drawn, checkRanks},
	{"streams", "the first operations are those of the seed and the workload, drawn again", drawn, checkStreams},
	{"asked", "the nodes have the flags, the window, the workers and the first operations that the launcher asks for", drawn, checkAsked},
	{"compared", "the values that are read are compared in full as often as -verify says", drawn, checkCompared},
	{"values", "the stored values are incompressible", wrong, checkValues},
	{"bytes", "the operations carry values of their sizes, and the servers store such values", wrong, checkBytes},
	{"misses", "what is loaded is found", lost, checkMisses},
	{"tallies", "a client's workers and its latencies count the same operations", watched, checkTallies},
	{"rate", "the result is the rate of the operations in the common window", watched, checkRate},
	{"server-window", "the servers apply in the window what the clients count in it", watched, checkServersWindow},
	{"heard", "the client's intervals have the window's operations, and the warm-up is as long as its flag says", watched, checkHeard},
	{"window-counts", "what a client counts in the window fits what the launcher hears at the window's ends", watched, checkCounted},
	{"server-seconds", "a server's seconds are its window, give its median, and fit what the launcher hears", watched, checkSeconds},
	{"processor-time", "a node's processor time is what the kernel tells the launcher", "The node's account of its processor time is wrong: look at its sampler; kvlab's own programs pass.", checkProcessorTime},
	{"little", "a closed loop has as many rounds in flight as its flags say, always", watched, checkLittle},
	{"ends", "what is answered after a closed loop's window is not counted in it", watched, checkEnds},
	{"arrivals", "an open loop offers the operations of its seed and rate", drawn, checkArrivals},
	{"batches", "a closed loop's rounds have as many calls and operations as its batch size makes", drawn, checkBatches},
	{"busy", "a closed loop's operations take the time of its rounds together", watched, checkBusy},
	{"carried", "a client's network interface carries the bytes of its calls", watched, checkCarried},
	{"link", "the links carry the operations that are counted", "Warm up longer: what was in flight when the window opened is counted in it.", checkLink},
	{"drift", "the rate does not drift in the window", "Look for what changes while the store runs, or warm up longer.", checkDrift},
	{"timeouts", "no call takes longer than -call-timeout", "A call had no reply in time: look for a lock that is not released, a reply that is never sent, and work that grows with the number of keys.", checkTimeouts},
	{"linearizable", "what is recorded with -linearizable is linearizable", "A read returned a value that no order of the operations explains: look for caches, reads beside the lock, and replies that are sent before the write is done.", checkRecorded(false)},
	{"serializable", "what is recorded with -serializable is strictly serializable", "No order of the transactions explains what they read; docs/measuring.md tells where to look for each anomaly.", checkRecorded(true)},
	{"audit", "after the run the store has the clients' last acknowledged writes", "A write may be acknowledged only when it is done: look for writes that are dropped, or overtaken by an older one.", checkAudit},
	{"fresh", "no client reads a value that a later one has surely replaced", "A read returned an old value: look for caches, reads beside the lock, and replies that are sent before the write is done.", checkFresh},
	{"sent", "all operations of some workers are those of the seed, drawn again, and the servers applied them", drawn, checkSent},
	{"soak", "in a soak no process grows", "Look for memory, descriptors and goroutines that are kept: docs/measuring.md says how.", checkSoak},
	{Ceiling, "the servers have a store", "choose an -engine that stores, for a result", checkCeiling},
	{"checked", "the values that are checked are those of their keys", "Leave out -verify none.", checkChecked},
	{"length", "the window is long beside the operations in it", slow, checkLength},
	{"backlog", "an open loop does not answer more in the window than is due in it", "Warm up longer, or offer a lower -rate.", checkBacklog},
	{Injected, "no server is slowed on purpose", "Leave out -inject, for a result.", checkSpeed},
}

// finding is what a check finds: one of passed, failed, doubted and inapplicable. The zero
// value is of a part of a check that finds no fault.
type finding metrics.CheckResult

// passed returns the finding of a check that holds, with the figures that it compared.
func passed(format string, args ...any) finding {
	return finding{Outcome: metrics.CheckPassed, Evidence: fmt.Sprintf(format, args...)}
}

// failed returns the finding that makes a run INVALID. The node is "" when it is not one node's.
func failed(node, format string, args ...any) finding {
	return finding{Outcome: metrics.CheckFailed, Node: node, Evidence: fmt.Sprintf(format, args...)}
}

// doubted returns the finding that stands beside a VALID result: the row's name, the text and the
// row's advice.
func doubted(node, format string, args ...any) finding {
	return finding{Outcome: metrics.CheckDoubted, Node: node, Evidence: fmt.Sprintf(format, args...)}
}

// inapplicable returns the finding of a check that does not concern a run, with the flag or the
// capability that says so.
func inapplicable(format string, args ...any) finding {
	return finding{Outcome: metrics.CheckInapplicable, Evidence: fmt.Sprintf(format, args...)}
}

func (f finding) failed() bool { return f.Outcome == metrics.CheckFailed }

// made makes checks in order, sets run.Checks and returns the verdict. Rows after the first
// that fails are listed as not made.
func (run *judged) made(rows []Check) metrics.Verdict {
	v := metrics.Verdict{Valid: true}
	run.Checks = nil
	for _, row := range rows {
		f := finding{Outcome: metrics.CheckNotMade, Evidence: "after the check that failed"}
		if v.Valid {
			if f = row.find(run); f.failed() {
				v = metrics.Verdict{Check: row.ID, Node: f.Node, Reason: f.Evidence}
			}
		}
		f.ID = row.ID
		run.Checks = append(run.Checks, metrics.CheckResult(f))
	}
	return v
}

// find makes the check. A record that lacks what it reads, such as that of a ceiling that
// somebody has edited, fails it.
func (row Check) find(run *judged) (f finding) {
	defer func() {
		if missing := recover(); missing != nil {
			f = failed("", "the records lack what the check %q reads: %v", row.ID, missing)
		}
	}()
	return row.Func(run)
}

// rows are those of the table with the IDs, in its order.
func rows(ids ...string) []Check {
	return slices.DeleteFunc(slices.Clone(checks), func(row Check) bool { return !slices.Contains(ids, row.ID) })
}

// IDs of what makes an entry of a class INVALID beside a run's verdict.
const (
	Memory   = "memory"   // its servers held more than the class allows
	Weakened = "weakened" // its run has a caveat that the class does not allow
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
	{ID: Weakened, Meaning: "an entry's run has no caveat that the class does not allow", Advice: "If your store causes it, as when it closes connections, change that. Else tell the instructor."},
}

// ofStore are the rows that a store alone can fail: what it answered or kept is wrong, it has
// ended, or it takes too much. On a busy machine a right store is slow, and passes them.
var ofStore = []string{"replies", "server-counts", "store-counts", "load", "misses", "values", "linearizable", "serializable", "audit", "fresh", "crash", Memory}

// OfStore reports whether the store alone can have made a run INVALID, so that a second run
// would show nothing else.
func OfStore(v metrics.Verdict) bool { return slices.Contains(ofStore, v.Check) }

// Advice says what to do about an INVALID verdict.
func Advice(v metrics.Verdict) string {
	all := slices.Concat(checks, faults)
	if i := slices.IndexFunc(all, func(c Check) bool { return c.ID == v.Check }); i >= 0 {
		return all[i].Advice
	}
	return "docs/measuring.md explains each check. Measure the same work in your own checkout. If that run is VALID, tell the instructor."
}

// Table returns the table of checks in Markdown, with what ends a run before them.
func Table() string {
	var table strings.Builder
	table.WriteString("| check | of a VALID run | else |\n|---|---|---|\n")
	for _, c := range slices.Concat(checks, faults) {
		table.WriteString("| `" + strings.Join([]string{c.ID + "`", c.Meaning, c.Advice}, " | ") + " |\n")
	}
	return table.String()
}
