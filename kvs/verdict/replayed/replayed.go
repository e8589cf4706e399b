// Package replayed judges the operations of a run that replays a trace.
package replayed

import (
	"fmt"
	"math"

	"kvlab/metrics"
	"kvlab/workload"
)

// Judge compares the operations that the clients' workers verified, kind by kind, with the
// first ones of their parts of the trace, as many as each drew, and says whether the trace lasted
// as long as the window. It needs the summaries of all clients.
func Judge(run metrics.Run, plan *workload.Plan) metrics.CheckResult {
	clients := run.Clients()
	least, most := math.Inf(1), 0.0
	for i, node := range clients {
		place := workload.Place{Node: i, Nodes: len(clients), Workers: len(node.Summary.Workers)}
		if run.Count(metrics.Server) == 0 { // each process is the only client
			place.Node, place.Nodes = 0, 1
		}
		var verified metrics.Counts
		var want [workload.Kinds]uint64
		for _, peer := range node.Summary.Peers {
			verified = verified.Add(peer.Drawn())
		}
		for worker, account := range node.Summary.Workers {
			place.Worker = worker
			for kind, n := range plan.Kinds(place, account.Drawn) {
				want[kind] += n
			}
			if o := node.Summary.Offered; o == nil && plan.Ended(place, account.Drawn) || o != nil && plan.LastsS(o.RunOpsPerS) < float64(o.ClosesNs)/1e9 {
				return failed(node.Name, "the trace ended before the window did, for worker %d after %d operations", worker, account.Drawn)
			}
			passes := plan.Passes(place, account.Drawn)
			least, most = min(least, passes), max(most, passes)
		}
		for kind, n := range want {
			if got := verified.ByKind()[kind]; got != n {
				return failed(node.Name, "%d %ss were verified, the trace has %d in what the client replayed", got, workload.Kind(kind), n)
			}
		}
	}
	return metrics.CheckResult{Outcome: metrics.CheckPassed, Evidence: fmt.Sprintf("the operations are those of the trace, kind by kind; the workers replayed their parts %.2f to %.2f times: %s", least, most, plan.Trace())}
}

func failed(node, layout string, args ...any) metrics.CheckResult {
	return metrics.CheckResult{Outcome: metrics.CheckFailed, Node: node, Evidence: fmt.Sprintf(layout, args...)}
}
