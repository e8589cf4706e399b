// Package verdict decides whether a run's result is valid, by pure functions of a
// metrics.Run.
package verdict

import (
	"errors"
	"math"
	"slices"

	"kvlab/kvs/verdict/claimed"
	"kvlab/kvs/verdict/recorded"
	"kvlab/kvs/verdict/work"
	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// judged is a run with the expectation that follows from its flags.
type judged struct {
	metrics.Run
	expected   *expectation
	unexpected error // why there is none
	storeless  bool  // it has no servers, or only such as answer without a store
}

// replays reports whether the run's operations are a trace's.
func (run *judged) replays() bool {
	return run.expected != nil && run.expected.stream != nil && run.expected.stream.Replays()
}

// Judge sums the summaries of a run that ended, lists its checks and returns whether its
// result is valid.
func Judge(run *metrics.Run) metrics.Verdict {
	account.Total(run)
	if run.HostsClient() {
		return claimed.Judge(run)
	}
	r := &judged{Run: *run, unexpected: errors.New("no client says what its flags are")}
	if run.Workload != nil {
		r.expected, r.unexpected = expect(run.Workload, run.Count(metrics.Server), work.Drawn(run)...)
	}
	run.Skew = skewOf(r)
	v := r.made(checks)
	run.Checks = r.Checks
	return v
}

// JudgeInproc returns the verdict on a run without servers. It checks the clients' own
// replies and is never VALID. Each process is client 0 of 1, so all draw the same
// operations.
func JudgeInproc(run *metrics.Run) metrics.Verdict {
	return judgeCeiling(run, "reports", "replies", "window", "totals", "workers", "streams", "misses", "tallies", "rate", "heard", "little", "ends", Ceiling)
}

// JudgeRepeat returns the verdict on the run whose clients and servers -repeat: its calls
// came back, as many and as fast as the clients say, and it is no result. Its servers do not
// count.
func JudgeRepeat(run *metrics.Run) metrics.Verdict {
	return judgeCeiling(run, "reports", "window", "tallies", "rate", "heard", "little", "ends", "batches", "carried", Ceiling)
}

// judgeCeiling makes some of the checks of a run without a store.
func judgeCeiling(run *metrics.Run, ids ...string) metrics.Verdict {
	account.Total(run)
	r := &judged{Run: *run, storeless: true}
	if run.Workload != nil && run.Count(metrics.Server) > 0 {
		r.expected, r.unexpected = expect(run.Workload, run.Count(metrics.Server))
	}
	if r.expected == nil { // without servers no share of a batch is known
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == "batches" })
	}
	v := r.made(rows(ids...))
	run.Checks = r.Checks
	return v
}

// checkReports: every node has reported.
func checkReports(run *judged) finding {
	for _, node := range run.Nodes {
		if node.Summary == nil {
			return failed(node.Name, "%s sent no summary", node.Role)
		}
	}
	return passed("%s reported", format.Plural(len(run.Nodes), "node"))
}

// checkReplies: every reply that was checked was right.
func checkReplies(run *judged) finding {
	checked := uint64(0)
	for _, node := range run.Clients() {
		checked += node.Summary.Verification.Checked
		if v := node.Summary.Verification; v.Failures > 0 {
			return failed(node.Name, "%s failed verification, first: %s", format.Plural(v.Failures, "result"), format.OneLine(v.First))
		}
	}
	return passed("%d values were checked, none was wrong", checked)
}

// checkRecorded: what was recorded was strictly serializable, or linearizable, by each client and
// together.
func checkRecorded(serial bool) func(*judged) finding {
	return func(run *judged) finding {
		all, node, fault := recorded.Of(&run.Run, serial)
		switch {
		case fault != "":
			return failed(node, "%s", fault)
		case all.Ops == 0:
			return inapplicable("no client has the flag")
		}
		return passed("%s", recorded.Right(all))
	}
}

// checkWindow: the clients measured at the same time, and something.
func checkWindow(run *judged) finding {
	for _, node := range run.Clients() {
		if s := node.Summary; s.WindowLengthS <= 0 || s.InWindow.Ops() == 0 {
			if sums := roundsOf(node); sums != nil && sums.Across > 0 {
				return run.spanned(node, sums)
			}
			return failed(node.Name, "the client counted %d operations in a window of %.3g s, which is no rate", s.InWindow.Ops(), s.WindowLengthS)
		}
	}
	if run.OverlapShare < minOverlap {
		return failed("", "the clients' windows share %.1f %% of the shortest, not %.0f %% (did one begin late?)", 100*run.OverlapShare, 100*minOverlap)
	}
	return passed("the windows share %.1f %% of the shortest, %.0f %% at least", 100*run.OverlapShare, 100*minOverlap)
}

// checkStrangers: no third-party client wrote to a store. Their reads are only counted.
func checkStrangers(run *judged) finding {
	for _, node := range run.Servers() {
		if s := node.Summary.Strangers; s != nil && s.Writes() > 0 {
			return failed(node.Name, "third-party clients wrote at the server's RESP gateway (-resp): %s", s.KindText())
		}
	}
	return passed("no third-party client wrote, %d reads of such clients", run.StrangerReads)
}

// checkTotals: a node's counts by peer add up to its total.
func checkTotals(run *judged) finding {
	for _, node := range run.Nodes {
		if node.Foreign() {
			continue
		}
		var total metrics.Counts
		for _, peer := range node.Summary.Peers {
			total = total.Add(peer.Counts)
		}
		if sum, all, what := difference(total, node.Summary.Total); what != "" {
			return failed(node.Name, "its counts do not add up: those of its peers to %d %s, its own to %d", sum, what, all)
		}
	}
	return passed("the counts by peer add up to each node's own")
}

// checkPairs: between each client and each server that was not killed, verified equals
// applied, kind by kind. If they differ the client is named, because its count is the result.
func checkPairs(run *judged) finding {
	if run.Store != nil {
		return inapplicable("driver %s: its servers do not tell clients apart", run.Store.Driver)
	}
	applied := make(map[[2]string]metrics.Counts) // by client and server
	for _, node := range run.Servers() {
		for _, peer := range node.Summary.Peers {
			applied[[2]string{peer.Peer, node.Name}] = peer.Counts
		}
	}
	for _, node := range run.Clients() {
		for _, peer := range node.Summary.Peers {
			pair := [2]string{node.Name, peer.Peer}
			if ours, theirs, what := difference(peer.Counts, applied[pair]); what != "" && !run.Restart.Of(peer.Peer) {
				return failed(node.Name, "the client verified %d %s of server %s, which applied %d for it: %s", ours, what, peer.Peer, theirs, miscount(peer.Counts.Sub(peer.Load), applied[pair].Sub(peer.Load)))
			}
			delete(applied, pair)
		}
	}
	for pair, counts := range applied {
		if n := counts.Ops() + counts.ScanParts; n > 0 {
			return failed(pair[1], "the server applied %d operations for %q, which counted none", n, pair[0])
		}
	}
	return passed("%d operations verified by clients, %d applied by servers", run.Total.Ops(), run.Applied.Ops())
}

// miscount explains a difference between the operations that a client verified and
// a server applied after the load.
func miscount(verified, applied metrics.Counts) string {
	switch {
	case verified.Ops() < applied.Ops():
		return "the client lost results before it counted them (a worker's, or a call's)"
	case verified.ByKind() == applied.ByKind():
		return "the client took results for others"
	case verified.Ops() == applied.Ops():
		return "the client sent some as another kind (reads as writes?)"
	case verified.Writes() > applied.Writes():
		return "the client counted some before they were done (when sent, or dropped on the way)"
	case byChanceReads(verified, verified.Ops()-applied.Ops()):
		return "the client counted some before they were done (when sent, or dropped on the way, or answered by a cache)"
	}
	return "a cache answered some before the server did, as no write is missing"
}

// byChanceReads reports whether all missing operations may be reads if operations of
// any kind are lost alike: with a probability above 10^-9.
func byChanceReads(all metrics.Counts, missing uint64) bool {
	return float64(missing)*math.Log(1-stats.Portion(all.Writes(), all.Ops())) > math.Log(1e-9)
}

// checkCeiling: the servers have a store.
func checkCeiling(run *judged) finding {
	if run.storeless || slices.ContainsFunc(run.Nodes, metrics.RunNode.Storeless) {
		return failed("", "engine null answers without a store: this is a ceiling, not a result")
	}
	return passed("every server says that it stores")
}

// checkChecked: the values that were checked were those of their keys.
func checkChecked(run *judged) finding {
	checked := uint64(0)
	for _, node := range run.Clients() {
		switch v := node.Summary.Verification; {
		case v.Unchecked > 0:
			return failed(node.Name, "%d values were not checked at all (-verify none): no result", v.Unchecked)
		case v.AnyKey > 0:
			return failed(node.Name, "%d values were not checked against their keys", v.AnyKey)
		}
		checked += node.Summary.Verification.Checked
	}
	return passed("%d values were checked against their keys", checked)
}

// checkSpeed: no server was slowed on purpose.
func checkSpeed(run *judged) finding {
	if run.Injected() {
		return failed("", "-inject makes the servers' speed faulty: this tests the instrument, and is no result")
	}
	return passed("no server has -inject")
}

// difference returns the first figure in which two counts differ, and its name; "" when
// they agree.
func difference(a, b metrics.Counts) (ours, theirs uint64, what string) {
	kinds, others := a.ByKind(), b.ByKind()
	for k, name := range metrics.KindNames {
		if kinds[k] != others[k] {
			return kinds[k], others[k], name + "s"
		}
	}
	switch {
	case a.Hits != b.Hits:
		return a.Hits, b.Hits, "hits"
	case a.Misses != b.Misses:
		return a.Misses, b.Misses, "misses"
	case a.Calls != b.Calls:
		return a.Calls, b.Calls, "calls"
	}
	return 0, 0, ""
}
