package verdict

import (
	"kvlab/metrics"
)

// skewOf compares what a run's servers observed with the expectation; nil without an
// expectation or when a node has not reported.
func skewOf(run *judged) *metrics.Skew {
	e := run.expected
	servers := run.Servers()
	if e == nil || !first(run, checkReports).Valid {
		return nil
	}
	s := &metrics.Skew{Law: e.name, Router: e.router, Records: e.records, Balances: e.balances}
	if e.cells != nil {
		s.TopShare = e.topShare
		s.Servers = serverShares(run)
		s.Head, s.SampledOps = headOf(e.top, servers, s.Servers)
	}
	s.Kinds, _ = kindShares(run)
	inWindow := run.InWindow()
	s.HitRate = 1
	if reads := inWindow.Gets + inWindow.ReadModifyWrites; reads > 0 {
		s.HitRate = portion(inWindow.Hits, reads)
	}
	return s
}

// headOf returns the observed shares of the head, and the number of sampled
// operations. A record's share is that of its server's sample times the server's share
// of all operations, because the servers' windows may differ in length. The expected
// share of the other keys in its cell is subtracted.
func headOf(head []topRecord, servers []metrics.RunNode, shares []metrics.ServerShare) (seen []metrics.HeadShare, sampled uint64) {
	sampledAt := make([]uint64, len(servers))
	for i, node := range servers {
		if node.Summary.Seen != nil {
			sampledAt[i] = sum(node.Summary.Seen.Groups)
		}
		sampled += sampledAt[i]
	}
	for i, h := range head {
		share := metrics.Share{Theory: h.share}
		if at := h.server; at < len(servers) && servers[at].Summary.Seen != nil {
			cell := portion(opsIn(servers[at].Summary.Seen.Busiest, h.cell), sampledAt[at]) * shares[at].Observed
			share.Observed = max(0, cell-(h.cellShare-h.share))
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
func serverShares(run *judged) []metrics.ServerShare {
	counts := countsByServer(run, len(run.expected.cells))
	all := sum(counts)
	var shares []metrics.ServerShare
	for i, node := range run.Servers() {
		theory := sum(run.expected.cells[i])
		shares = append(shares, metrics.ServerShare{Server: node.Name, Share: metrics.Share{Theory: theory, Observed: portion(counts[i], all)}})
	}
	return shares
}
