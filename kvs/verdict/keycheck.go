package verdict

import (
	"fmt"
	"math"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// checkKeys: each server got its share of the operations, and its sampled keys are as
// popular as in the workload. If not, the servers' samples together tell a wrong skew
// from misrouted keys.
func checkKeys(run *judged) {
	e := run.expected
	if e.cells == nil {
		return
	}
	counts, shares := countsByServer(run, len(e.cells)), make([]float64, len(e.cells))
	var routed, skewed, together stats.Fit
	var seenGroups [][]uint64
	for i, node := range run.Servers() {
		shares[i] = sum(e.cells[i])
		if seen := node.Summary.Seen; len(seen.Groups) == len(e.cells[i]) {
			skewed.Add(seen.Groups, e.cells[i], e.variance)
			seenGroups = append(seenGroups, seen.Groups)
		}
	}
	routed.Add(counts, shares, e.variance*float64(len(e.cells[0])))
	if routed.Fits() && skewed.Fits() {
		return
	}
	groups, of := columns(seenGroups), columns(e.cells)
	together.Add(groups, of, e.variance*float64(len(e.cells)))
	if together.Fits() {
		at := furthest(counts, shares)
		run.invalid(run.Servers()[at].Name, "the server got %s of the operations of %s where the router gives it %.2f %%: wrong or random routing (chi-square %.0f and %.0f, at most %.0f and %.0f)",
			percent(counts, at), e.name, 100*shares[at], routed.Statistic, skewed.Statistic, routed.Limit(), skewed.Limit())
		return
	}
	at := furthest(groups, of)
	run.invalid("", "one of %d groups of keys got %s of the operations where %s gives it %.2f %%: the skew is wrong (wrong theta?) (chi-square %.0f, at most %.0f)",
		len(groups), percent(groups, at), e.name, 100*of[at], together.Statistic, together.Limit())
}

// countsByServer returns the operations after the load that the clients verified with
// each server. By checkPairs these are those that it applied.
func countsByServer(run *judged, servers int) []uint64 {
	counts := make([]uint64, servers)
	for _, client := range run.Summaries(metrics.Client) {
		for i, peer := range client.Peers {
			counts[i] += peer.Counts.Ops() - peer.Load.Ops()
		}
	}
	return counts
}

// columns sums rows of equal length by column.
func columns[T uint64 | float64](rows [][]T) []T {
	var all []T
	for _, row := range rows {
		if all == nil {
			all = make([]T, len(row))
		}
		for i, x := range row {
			all[i] += x
		}
	}
	return all
}

// percent formats a count's share of all counts.
func percent(counts []uint64, at int) string {
	return fmt.Sprintf("%.2f %%", 100*portion(counts[at], sum(counts)))
}

// furthest is the cell whose count is furthest from its share.
func furthest(counts []uint64, shares []float64) int {
	n := float64(sum(counts))
	at, most := 0, -1.0
	for i, c := range counts {
		if off := math.Abs(float64(c) - n*shares[i]); off > most {
			at, most = i, off
		}
	}
	return at
}
