package verdict

import (
	"math"

	"kvlab/metrics"
)

// furthestOff is the largest accepted distance of a kind's count, of n operations,
// from its mean. A correct run exceeds it at most once in 10^9 times (S. Bernstein's
// inequality; Boucheron, Lugosi and Massart, Concentration
// Inequalities, 2013, section 2.8).
func furthestOff(n, share float64) float64 {
	variance := n * share * (1 - share)
	if variance == 0 {
		return 0
	}
	rare := math.Log(2 / 1e-9)
	return rare/3 + math.Sqrt(rare*rare/9+2*variance*rare)
}

// kindShares returns the kinds' shares of the operations that the servers applied after
// the load, and the number of these.
func kindShares(run *judged) (shares []metrics.KindShare, ops float64) {
	done := run.Applied
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			done = done.Sub(peer.Load)
		}
	}
	for k, n := range done.ByKind() {
		share := metrics.Share{Theory: run.expected.kinds[k], Observed: portion(n, done.Ops())}
		shares = append(shares, metrics.KindShare{Kind: metrics.KindNames[k] + "s", Share: share})
	}
	return shares, float64(done.Ops())
}

// checkMix: of the operations that the servers applied after the load, each kind
// has its share.
func checkMix(run *judged) {
	kinds, n := kindShares(run)
	for _, k := range kinds {
		if n*math.Abs(k.Observed-k.Theory) > furthestOff(n, k.Theory) {
			run.invalid("", "the servers applied %.3f %% %s where %s has %.3f %%: the mix is wrong (reads sent as writes?)",
				100*k.Observed, k.Kind, run.expected.name, 100*k.Theory)
		}
	}
}
