// Package replayed judges the operations of a run that replays a trace.
package replayed

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/trace"
)

// Judge compares the operations that the clients' workers verified, kind by kind, with the
// first ones of their parts of the trace, as many as each drew. In a closed loop it doubts a run
// whose workers kept no step. It needs the summaries of all clients.
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
			if passes := plan.Passes(place, account.Drawn); node.Summary.Offered == nil { // in an open loop they keep step
				least, most = min(least, passes), max(most, passes)
			}
		}
		for kind, n := range want {
			if got := verified.ByKind()[kind]; got != n {
				return failed(node.Name, "%d %ss were verified, the trace has %d in what the client replayed", got, workload.Kind(kind), n)
			}
		}
	}
	if most > 2*least { // the keys of two workers are then more than twofold off the trace's shares
		return metrics.CheckResult{Outcome: metrics.CheckDoubted, Evidence: fmt.Sprintf("in a closed loop workers keep no step: they replayed their parts %.2f to %.2f times, and popular keys have fewer operations than in the trace", least, most)}
	}
	return metrics.CheckResult{Outcome: metrics.CheckPassed, Evidence: "the operations are those of the trace, kind by kind"}
}

// Describe returns what is known of a plan's trace before the run; nil without one.
func Describe(plan *workload.Plan) *metrics.Replay {
	h := plan.Trace()
	if h == nil {
		return nil
	}
	r := &metrics.Replay{Format: h.Format, SHA256: h.SHA256, Least: trace.LeastValue, Smaller: h.Smaller, Most: trace.MostValue, Larger: h.Larger, Expiring: h.Expiring, LiveBytes: h.LiveBytes}
	ops := maps.Clone(h.Commands)
	for name, n := range h.Skipped { // some were skipped unread
		ops[name] = max(ops[name], n)
	}
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		as := h.Became[name]
		r.Commands = append(r.Commands, metrics.TraceCommand{Name: name, Ops: ops[name], LeftOut: h.Skipped[name], As: as[:]})
	}
	return r
}

func failed(node, layout string, args ...any) metrics.CheckResult {
	return metrics.CheckResult{Outcome: metrics.CheckFailed, Node: node, Evidence: fmt.Sprintf(layout, args...)}
}
