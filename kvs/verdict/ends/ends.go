// Package ends judges how a run ends: with its operations, or after a time that is long enough.
package ends

import (
	"fmt"

	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/workload"
)

// Ended reports whether a run ended with its operations, and not with -secs.
func Ended(run metrics.Run) bool {
	secs := run.Workload.Secs().Seconds()
	return run.Workload.Ops() > 0 && run.Window != nil && (secs <= 0 || run.Window.UsedS < secs)
}

// Judge compares the operations of a run that ended with them with -ops: each worker drew exactly
// its share by the plan, and all were done in the window. One that -secs ended has a part of
// them. It needs the summaries of all clients.
func Judge(run metrics.Run, plan *workload.Plan) metrics.CheckResult {
	all := run.Workload.Ops()
	if all == 0 {
		return metrics.CheckResult{Outcome: metrics.CheckInapplicable, Evidence: "no -ops: -secs end the run"}
	}
	clients, ended := run.Clients(), Ended(run)
	for i, node := range clients {
		for k, w := range node.Summary.Workers {
			share := plan.Ops(workload.Place{Node: i, Nodes: len(clients), Worker: k, Workers: len(node.Summary.Workers)})
			if w.Drawn > share || ended && w.Drawn < share {
				return found(metrics.CheckFailed, node.Name, "worker %d sent %d operations, its share of -ops %d is %d", k, w.Drawn, all, share)
			}
		}
	}
	switch {
	case !ended:
		return found(metrics.CheckPassed, "", "%d of %d operations were done until -secs were over", run.Ops, all)
	case run.Ops != all:
		return found(metrics.CheckFailed, "", "%d operations are counted, -ops is %d", run.Ops, all)
	}
	return found(metrics.CheckPassed, "", "exactly %d operations, each worker its share", all)
}

// SlotTime returns how long a client's slots of rounds in flight were to be used together, and for
// how long of that they may have been empty, in seconds. A worker that had no more operations was
// at work from its beginning to its last reply, and its other slots were empty while its last
// rounds lasted.
func SlotTime(run metrics.Run, client *metrics.Summary) (whole, empty float64) {
	inFlight := float64(run.Workload.InFlight())
	for _, w := range client.Workers {
		lasts := client.WindowLengthS
		if w.Rounds != nil && w.Rounds.EndS > 0 {
			lasts = min(lasts, w.Rounds.EndS) - w.Rounds.BeginS
			empty += (inFlight - 1) * client.Stamps[metrics.OpLatency].LongestS
		}
		whole += inFlight * lasts
	}
	return whole, empty
}

// Length doubts a window that is not long beside the operations in it. A worker's round counts
// whole where its reply comes, so a window of k rounds counts less than a round of each
// worker too much, or too little: 1/k of the result, if all workers' rounds end together.
func Length(run metrics.Run) metrics.CheckResult {
	if Ended(run) {
		return rounds(run)
	}
	longest := 0.0
	name := metrics.OpLatency // of a closed loop, its rounds
	if run.Offered != nil {
		name = metrics.CallLatency
	}
	for _, node := range run.Clients() {
		s := node.Summary
		took := s.Latency[name].Mean / 1e6
		longest = max(longest, took)
		if s.WindowLengthS < metrics.LeastRounds*took {
			return found(metrics.CheckDoubted, node.Name, "the window of %.3g s has %.1f rounds of %.3g s: the operations in flight at its ends may make the result up to %.0f %% wrong",
				s.WindowLengthS, s.WindowLengthS/took, took, 100*took/s.WindowLengthS)
		}
	}
	return found(metrics.CheckPassed, "", "a round takes %.3g s, a tenth of the window at most", longest)
}

// rounds doubts a closed loop that its operations ended after so few rounds that its rate is
// mostly of the first and the last ones, when not all workers have a round in flight.
func rounds(run metrics.Run) metrics.CheckResult {
	for _, node := range run.Clients() {
		each := float64(account.Rounds(node.Summary).Rounds) / float64(max(1, len(node.Summary.Workers)))
		if node.Summary.Offered == nil && each < metrics.LeastRounds {
			return found(metrics.CheckDoubted, node.Name, "each worker made only %.1f rounds of calls", each)
		}
	}
	return found(metrics.CheckPassed, "", "-ops: each worker made %d rounds at least, or had due times", metrics.LeastRounds)
}

func found(outcome metrics.CheckOutcome, node, layout string, args ...any) metrics.CheckResult {
	return metrics.CheckResult{Outcome: outcome, Node: node, Evidence: fmt.Sprintf(layout, args...)}
}
