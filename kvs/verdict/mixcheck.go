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

// workDone returns the counts that the servers applied after the load.
func workDone(run judged) metrics.Counts {
	done := run.Applied
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			done = done.Sub(peer.Load)
		}
	}
	return done
}

// kindCount is how many operations of a kind were done, and their share in theory.
type kindCount struct {
	name  string
	count uint64
	share float64
}

func kindsOf(done metrics.Counts, e *expectation) []kindCount {
	return []kindCount{{"gets", done.Gets, e.gets}, {"puts", done.Puts, e.puts}, {"read-modify-writes", done.ReadModifyWrites, e.readModifyWrites}}
}

// checkMix: of the operations that the servers applied after the load, each kind
// has its share.
func checkMix(run judged) metrics.Verdict {
	e := run.expected
	done := workDone(run)
	n := float64(done.Ops())
	for _, kind := range kindsOf(done, e) {
		if math.Abs(float64(kind.count)-n*kind.share) > furthestOff(n, kind.share) {
			return invalid("", "the servers applied %.3f %% %s where %s has %.3f %%: the mix is wrong (reads sent as writes?)",
				100*float64(kind.count)/n, kind.name, e.name, 100*kind.share)
		}
	}
	return valid
}
