package verdict

import (
	"kvlab/metrics"
)

// skewOf lays what the servers saw of a run beside what its clients' flags
// predict; nil when a node has not said its part.
func skewOf(run metrics.Run) *metrics.Skew {
	law := lawOf(run)
	servers := serversOf(run)
	if law == nil || !checkReports(run).Valid || law.Cells != nil && len(law.Cells) != len(servers) {
		return nil
	}
	s := &metrics.Skew{Law: law.Name, Router: law.Router, Records: law.Records, Balances: law.Balances}
	if law.Cells != nil {
		s.TopShare = law.Heaviest
		s.Servers = serverShares(run, law)
		s.Head, s.SampledOps = headOf(law.Head, servers, s.Servers)
	}
	done := workDone(run)
	for _, kind := range kindsOf(done, law) {
		s.Kinds = append(s.Kinds, metrics.KindShare{Kind: kind.name, Share: metrics.Share{Theory: kind.share, Observed: ratio(kind.count, done.Ops())}})
	}
	var inWindow metrics.Counts
	for _, c := range measurers(&run) {
		inWindow = inWindow.Add(c.InWindow)
	}
	s.HitRate = 1
	if reads := inWindow.Gets + inWindow.ReadModifyWrites; reads > 0 {
		s.HitRate = ratio(inWindow.Hits, reads)
	}
	return s
}

// ratio is a over b, 0 where b is.
func ratio(a, b uint64) float64 { return float64(a) / float64(max(1, b)) }

// headOf is what the servers' samples have of the head, and how many operations
// were sampled. A record's share of its server's sample times that server's of all
// operations is its own of these: the servers' windows need not be alike. Of its
// cell what theory gives the other keys in it is taken away.
func headOf(head []metrics.HeadRecord, servers []metrics.RunNode, shares []metrics.ServerShare) (seen []metrics.HeadShare, sampled uint64) {
	sampledAt := make([]uint64, len(servers))
	for i, node := range servers {
		if node.Summary.Seen != nil {
			for _, n := range node.Summary.Seen.Groups {
				sampledAt[i] += n
			}
		}
		sampled += sampledAt[i]
	}
	for i, h := range head {
		share := metrics.Share{Theory: h.Share}
		if at := h.Server; at < len(servers) && servers[at].Summary.Seen != nil {
			cell := ratio(opsIn(servers[at].Summary.Seen.Busiest, h.Cell), sampledAt[at]) * shares[at].Observed
			share.Observed = max(0, cell-(h.CellShare-h.Share))
		}
		seen = append(seen, metrics.HeadShare{Rank: i + 1, Share: share})
	}
	return seen, sampled
}

// opsIn is the count of a cell, 0 when it is not among them.
func opsIn(cells []metrics.CellOps, cell int) uint64 {
	for _, c := range cells {
		if c.Cell == cell {
			return c.Ops
		}
	}
	return 0
}

// serverShares are the servers' shares of the operations after the load.
func serverShares(run metrics.Run, law *metrics.Law) []metrics.ServerShare {
	counts := countsByServer(run, len(law.Cells))
	var all uint64
	for _, n := range counts {
		all += n
	}
	var shares []metrics.ServerShare
	for i, node := range serversOf(run) {
		theory := 0.0
		for _, share := range law.Cells[i] {
			theory += share
		}
		shares = append(shares, metrics.ServerShare{Server: node.Name, Share: metrics.Share{Theory: theory, Observed: ratio(counts[i], all)}})
	}
	return shares
}
