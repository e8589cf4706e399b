package verdict

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"kvlab/kvs/verdict/replayed"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// skewOf compares what a run's servers observed with the expectation; nil without an
// expectation or when a node has not reported.
func skewOf(run *judged) *metrics.Skew {
	e := run.expected
	servers := run.Servers()
	if e == nil || checkReports(run).failed() {
		return nil
	}
	s := e.Skew
	if e.cells != nil {
		counts := countsByServer(run, len(e.cells))
		for i, node := range servers {
			share := metrics.Share{Theory: stats.Total(e.cells[i]), Observed: stats.Portion(counts[i], stats.Total(counts))}
			s.Servers = append(s.Servers, metrics.ServerShare{Server: node.Name, Share: share})
			if seen := node.Summary.Seen; seen != nil {
				s.SampledOps += stats.Total(seen.Groups)
			}
		}
	}
	for i, h := range e.top {
		if run.Store != nil {
			break // its servers take no samples
		}
		share := metrics.Share{Theory: h.share}
		if seen := servers[h.server].Summary.Seen; seen != nil {
			share.Observed = h.observed(seen, s.Servers[h.server].Observed)
		}
		s.Head = append(s.Head, metrics.HeadShare{Rank: i + 1, Share: share})
	}
	s.Kinds, _ = kindShares(run)
	inWindow := run.InWindow()
	s.HitRate = 1
	if reads := inWindow.Hits + inWindow.Misses; reads > 0 {
		s.HitRate = stats.Portion(inWindow.Hits, reads)
	}
	return &s
}

// observed returns the record's observed share, given its server's sample and share of
// all operations. The servers' windows may differ in length. The expected share of the
// other keys in its cell is subtracted.
func (h topRecord) observed(seen *metrics.Seen, server float64) float64 {
	var inCell uint64
	for _, c := range seen.Busiest {
		if c.Cell == h.cell {
			inCell = c.Ops
		}
	}
	return max(0, stats.Portion(inCell, stats.Total(seen.Groups))*server-(h.cellShare-h.share))
}

// furthestOff returns the largest accepted distance of a kind's count, of n operations,
// from its mean. A correct run exceeds it at most once in 10^9 times.
func furthestOff(n, share float64) float64 { return stats.Bernstein(n*share*(1-share), 1, 1e-9) }

// kindShares returns the kinds' shares of the operations that the servers applied after
// the load, and the number of these.
func kindShares(run *judged) (shares []metrics.KindShare, ops float64) {
	done := run.Applied
	if run.Store != nil {
		done = run.Total // it need not tell the kinds apart
	}
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			done = done.Sub(peer.Load).Sub(peer.Audit)
		}
	}
	kinds := done.ByKind()
	for k, n := range kinds[:metrics.OpKinds] {
		share := metrics.Share{Theory: run.expected.kinds[k], Observed: stats.Portion(n, done.Ops())}
		if done.Shows(k) || share.Theory > 0 {
			shares = append(shares, metrics.KindShare{Kind: metrics.KindNames[k] + "s", Share: share})
		}
	}
	return shares, float64(done.Ops())
}

// checkReplayed: the operations are the trace's, which lasted as long as the window.
func checkReplayed(run *judged) finding {
	if !run.replays() {
		return inapplicable("no -replay")
	}
	return finding(replayed.Judge(run.Run, run.expected.stream))
}

// checkMix: of the operations that the servers applied after the load, each kind
// has its share.
func checkMix(run *judged) finding {
	if run.replays() {
		return inapplicable("-replay: the trace has counts, and no shares")
	}
	kinds, n := kindShares(run)
	for _, k := range kinds {
		if n*math.Abs(k.Observed-k.Theory) > furthestOff(n, k.Theory) {
			return failed("", "the servers applied %.3f %% %s where %s has %.3f %%: the mix is wrong (reads sent as writes?)",
				100*k.Observed, k.Kind, run.expected.Law, 100*k.Theory)
		}
	}
	return passed("the shares of %d operations are those of %s", int(n), run.expected.Law)
}

// checkKeys: each server got its share of the operations, and its sampled keys are as
// popular as in the workload. If not, the servers' samples together tell a wrong skew
// from misrouted keys.
func checkKeys(run *judged) finding {
	e := run.expected
	if e.cells == nil {
		return inapplicable("records have no fixed shares")
	}
	n := len(e.cells[0])
	counts, shares := countsByServer(run, len(e.cells)), make([]float64, len(e.cells))
	groups, of := make([]uint64, n), make([]float64, n)
	var routed, skewed, together stats.Fit
	for i, node := range run.Servers() {
		shares[i] = stats.Total(e.cells[i])
		floats.Add(of, e.cells[i])
		if seen := node.Summary.Seen; seen != nil && len(seen.Groups) == n && !e.moves() {
			skewed.Add(seen.Groups, e.cells[i], e.variance)
			for group, ops := range seen.Groups {
				groups[group] += ops
			}
		}
	}
	routed.Add(counts, shares, e.variance*float64(n))
	if routed.Fits() && skewed.Fits() {
		return passed("servers' shares: chi-square %.0f, at most %.0f; groups of keys: %.0f, at most %.0f", routed.Statistic, routed.Limit(), skewed.Statistic, skewed.Limit())
	}
	together.Add(groups, of, e.variance*float64(len(e.cells)))
	if together.Fits() {
		at := stats.Furthest(counts, shares)
		return failed(run.Servers()[at].Name, "the server got %s of the operations of %s where the router gives it %.2f %%: wrong or random routing (chi-square %.0f and %.0f, at most %.0f and %.0f)",
			percent(counts, at), e.Law, 100*shares[at], routed.Statistic, skewed.Statistic, routed.Limit(), skewed.Limit())
	}
	at := stats.Furthest(groups, of)
	return failed("", "one of %d groups of keys got %s of the operations where %s gives it %.2f %%: the skew is wrong (wrong theta?) (chi-square %.0f, at most %.0f)",
		n, percent(groups, at), e.Law, 100*of[at], together.Statistic, together.Limit())
}

// countsByServer returns the operations after the load that the clients verified with
// each server, by checkPairs those that it applied, and those whose outcome is unknown.
func countsByServer(run *judged, servers int) []uint64 {
	counts := make([]uint64, servers)
	for _, client := range run.Summaries(metrics.Client) {
		for i, peer := range client.Peers {
			counts[i] += peer.Drawn().Ops() + peer.Unknown.Ops()
		}
	}
	return counts
}

// percent formats a count's share of all counts.
func percent(counts []uint64, at int) string {
	return fmt.Sprintf("%.2f %%", 100*stats.Portion(counts[at], stats.Total(counts)))
}
