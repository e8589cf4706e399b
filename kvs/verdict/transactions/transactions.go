// Package transactions judges the counts of transactions.
package transactions

import (
	"fmt"

	"kvlab/metrics"
)

// Judge compares the counts of attempts of a run with -txn: each client's add up, and each server
// committed for it what it says. It needs the summaries of all nodes.
func Judge(run metrics.Run) metrics.CheckResult {
	each := uint64(run.Workload.Txn())
	if each == 0 {
		return metrics.CheckResult{Outcome: metrics.CheckInapplicable, Evidence: "no -txn"}
	}
	var all metrics.TransactionCounts
	for _, node := range run.Clients() {
		t := node.Summary.Transactions
		if t == nil {
			return failed(node.Name, "the client gives no account of its transactions (-txn)")
		}
		why := sums(t.Total, each, run.Workload.Ops() > 0)
		if why == "" {
			why = part(t.Window, t.Total)
		}
		if why != "" {
			return failed(node.Name, "%s", why)
		}
		all = all.Add(t.Total)
	}
	if run.Store == nil {
		if r := servers(run, all); r.Outcome == metrics.CheckFailed {
			return r
		}
	}
	return metrics.CheckResult{Outcome: metrics.CheckPassed, Evidence: fmt.Sprintf("%d attempts: %d commits, %d aborts, %d unknown", all.Attempts, all.Commits, all.Aborted(), all.Unknown)}
}

// Undone says what became of operations that a client has drawn and not done.
func Undone(client metrics.RunNode) string {
	if t := client.Summary.Transactions; t != nil && t.Behind > 0 {
		return "refused until nothing was committed for -call-timeout: somebody holds a lock for ever"
	}
	return "dropped"
}

func failed(node, format string, args ...any) metrics.CheckResult {
	return metrics.CheckResult{Outcome: metrics.CheckFailed, Node: node, Evidence: fmt.Sprintf(format, args...)}
}

// sums says which of a client's counts do not add up; "" for none. Each transaction has the same
// number of operations, but the last of a worker may have fewer.
func sums(t metrics.TransactionCounts, each uint64, fewer bool) string {
	var commits, least uint64
	for slot, n := range t.Retries {
		commits, least = commits+n, least+n*metrics.FirstAttempts(slot)
	}
	switch {
	case t.Attempts != t.Commits+t.Aborted()+t.Unknown:
		return fmt.Sprintf("%d attempts are not %d commits, %d aborts and %d unknown", t.Attempts, t.Commits, t.Aborted(), t.Unknown)
	case t.Commits != t.Single+t.Cross:
		return fmt.Sprintf("%d commits are not %d of one server and %d of several", t.Commits, t.Single, t.Cross)
	case t.Parts < 2*t.Cross:
		return fmt.Sprintf("%d commits of several servers have %d parts, fewer than two each", t.Cross, t.Parts)
	case t.Commits != commits:
		return fmt.Sprintf("%d commits, and by their attempts %d", t.Commits, commits)
	case t.Attempts < least:
		return fmt.Sprintf("%d attempts, and the commits alone had %d", t.Attempts, least)
	case t.Ops > t.Commits*each || t.Ops < t.Commits || !fewer && t.Ops != t.Commits*each:
		return fmt.Sprintf("%d commits have %d operations, -txn is %d", t.Commits, t.Ops, each)
	}
	return ""
}

// part says which count of the window is not a part of the whole's.
func part(window, all metrics.TransactionCounts) string {
	if window.Attempts > all.Attempts || window.Commits > all.Commits || window.Aborted() > all.Aborted() || window.Ops > all.Ops {
		return fmt.Sprintf("%d commits of %d attempts are counted in the window, and %d of %d in all", window.Commits, window.Attempts, all.Commits, all.Attempts)
	}
	return ""
}

// servers compares what each server committed for each client with what the client says, and the
// servers' commits together with the clients'. What is unknown may be committed.
func servers(run metrics.Run, all metrics.TransactionCounts) metrics.CheckResult {
	done := make(map[[2]string]metrics.TransactionTally) // by client and server
	var sum metrics.TransactionTally
	for _, node := range run.Servers() {
		for _, peer := range node.Summary.Peers {
			done[[2]string{peer.Peer, node.Name}] = peer.Transactions
			sum = sum.Add(peer.Transactions)
		}
	}
	var known metrics.TransactionTally
	for _, node := range run.Clients() {
		for _, peer := range node.Summary.Peers {
			ours, theirs := peer.Transactions, done[[2]string{node.Name, peer.Peer}]
			known = known.Add(ours)
			unknown := node.Summary.Transactions.Total.Unknown
			if theirs.Runs < ours.Runs || theirs.Parts < ours.Parts || theirs.Runs+theirs.Parts > ours.Runs+ours.Parts+unknown {
				return failed(node.Name, "the client knows %d commits of server %s alone and %d with others, and the server counts %d and %d: one side counts aborts, or some commits twice or not",
					ours.Runs, peer.Peer, ours.Parts, theirs.Runs, theirs.Parts)
			}
		}
	}
	switch aborts := all.Aborted() - all.Aborts["fenced"]; {
	case known.Runs != all.Single || known.Parts != all.Parts:
		return failed("", "the clients count %d commits of one server and %d parts of the others, and by server %d and %d", all.Single, all.Parts, known.Runs, known.Parts)
	case sum.Refused < aborts:
		return failed("", "the clients count %d aborts by locks, and the servers refused %d parts", aborts, sum.Refused)
	}
	return metrics.CheckResult{}
}
