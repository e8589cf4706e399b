package verdict

import (
	"cmp"

	"kvlab/metrics"
)

// checkTallies: a client's workers and the collector of its latencies counted the same
// operations, per server and kind, and the histograms hold those that were due in the
// window.
func checkTallies(run *judged) finding {
	var all metrics.Counts
	stamps := make(map[string]metrics.Stamps)
	for _, node := range run.Clients() {
		s, sums := node.Summary, roundsOf(node)
		var window, due metrics.Counts
		for _, peer := range s.Peers {
			counted := peer.Window
			counted.Hits, counted.Misses = 0, 0 // the collector does not know them
			if ours, theirs, what := difference(counted, peer.Latency.Replied); what != "" {
				return failed(node.Name, "of server %s's replies in the window, the workers count %d %s and the latencies count %d", peer.Peer, ours, what, theirs)
			}
			window, due = window.Add(peer.Window), due.Add(peer.Latency.Due)
		}
		if sum, all, what := difference(window, s.InWindow); what != "" {
			return failed(node.Name, "its counts in the window do not add up: those of its servers to %d %s, its own to %d", sum, what, all)
		}
		if due.Ops() != sums.Ops {
			return failed(node.Name, "%d operations were due in the window and answered, the latencies count %d", sums.Ops, due.Ops())
		}
		if f := checkHistograms(node.Name, s.Latency, s.Stamps, due); f.failed() {
			return f
		}
		if sums.Mistaken > 0 {
			return failed(node.Name, "of %d calls, the send was stamped too late or the reply too early: their latencies are too short", sums.Mistaken)
		}
		for name, more := range s.Stamps {
			stamps[name] = stamped(stamps[name], more)
		}
		all = all.Add(due)
	}
	if f := checkHistograms("", run.Latency, stamps, all); f.failed() {
		return f
	}
	return passed("%d operations were due in the window, by the workers and by the latencies", all.Ops())
}

// checkHistograms: the histograms hold as many values as were due in the window, and the
// same as the workers summed up beside them.
func checkHistograms(node string, latencies map[string]metrics.Quantiles, stamps map[string]metrics.Stamps, due metrics.Counts) finding {
	for _, h := range []struct {
		name, unit string
		want       uint64
	}{{metrics.CallLatency, "calls", due.Calls}, {metrics.OpLatency, "operations", due.Ops()}} {
		q := latencies[h.name]
		if q.Values+q.OutOfRange != h.want {
			return failed(node, "the histogram of %s holds %d of %d that were due in the window", h.unit, q.Values+q.OutOfRange, h.want)
		}
		if f := checkStamps(node, h.unit, q, stamps[h.name]); f.failed() {
			return f
		}
	}
	return finding{}
}

// roundsOf adds up the sums of a client's workers, which checkAccounts requires.
// MostOps is the sum of the workers' largest rounds, and AcrossS the time of the longest round.
func roundsOf(node metrics.RunNode) *metrics.Rounds {
	var sums metrics.Rounds
	for _, w := range node.Summary.Workers {
		r := cmp.Or(w.Rounds, new(metrics.Rounds))
		sums.Ops += r.Ops
		sums.Rounds += r.Rounds
		sums.Calls += r.Calls
		sums.Early += r.Early
		sums.Unknown += r.Unknown
		sums.Spots += r.Spots
		sums.BusyS += r.BusyS
		sums.EarlyS += r.EarlyS
		sums.Across += r.Across
		sums.AcrossS = max(sums.AcrossS, r.AcrossS)
		sums.MostOps += r.MostOps
		sums.Offered += r.Offered
		sums.Mistaken += r.Mistaken
	}
	return &sums
}

// underWay is the most operations that a client had under way at once.
func underWay(run *judged, sums *metrics.Rounds) float64 {
	return float64(sums.MostOps) * float64(run.Workload.InFlight())
}

// unsent is the number of a client's operations that were due in the window and not
// answered in it: an open loop sends them in the drain.
func unsent(s *metrics.Summary) float64 {
	if s.Offered == nil || s.Offered.Ops < s.InWindow.Ops() {
		return 0
	}
	return float64(s.Offered.Ops - s.InWindow.Ops())
}
