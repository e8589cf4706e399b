package verdict

import (
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/format"
)

// checkAudit: the store has the clients' last writes.
func checkAudit(run *judged) finding {
	if slices.ContainsFunc(run.Nodes, metrics.RunNode.Storeless) {
		return inapplicable("the servers have no store")
	}
	if run.Audit == nil && run.ValueKey != "" && !run.replays() {
		return failed("", "nothing is known of an audit, and the clients had a key of the values")
	}
	if run.Audit == nil {
		return inapplicable("no audit was recorded")
	}
	if run.Audit.Fault() != "" {
		return failed("", "%s", format.OneLine(run.Audit.Fault()))
	}
	return passed("%s", run.Audit.Text())
}

// checkFresh: no client read a value that a later one had surely replaced, as far as it
// examined its replies. Of a reply of n operations it examined at least half of its share, as that
// is rounded down from above 4.
func checkFresh(run *judged) finding {
	if run.Audit == nil {
		return inapplicable("no audit was recorded")
	}
	examined, all := uint64(0), uint64(0)
	for _, node := range run.Clients() {
		v, drawn := node.Summary.Verification, uint64(0)
		for _, peer := range node.Summary.Peers {
			drawn += peer.Drawn().Ops()
		}
		if v.Stale > 0 {
			return failed(node.Name, "%s, first: %s", format.Plural(v.Stale, "stale read"), format.OneLine(v.FirstStale))
		}
		if run.Audit.Spots > 0 && v.Examined < drawn/(2*metrics.ExaminedShare) {
			return failed(node.Name, "the client examined %d of %d operations for stale values, want one in %d", v.Examined, drawn, metrics.ExaminedShare)
		}
		examined, all = examined+v.Examined, all+drawn
	}
	return passed("%d of %d operations were examined, and none read a value that was surely replaced", examined, all)
}
