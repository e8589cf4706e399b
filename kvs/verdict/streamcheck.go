package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// checkWorkers: every operation that a worker drew was done once, or its outcome is unknown,
// and no two workers drew the same operations.
func checkWorkers(run *judged) finding {
	drawn := uint64(0)
	openings := make(map[string]string) // digest -> whose
	for _, node := range run.Clients() {
		for i, w := range node.Summary.Workers {
			drawn += w.Drawn
			who := fmt.Sprintf("worker %d of %s", i, node.Name)
			sent := w.Verified + w.Unknown - w.Loaded - w.Audited
			switch other, known := openings[w.Opening]; {
			case sent < w.Drawn:
				return failed(node.Name, "worker %d drew %d operations and %d of them were done: the others were dropped", i, w.Drawn, sent)
			case sent > w.Drawn:
				return failed(node.Name, "worker %d drew %d operations and %d were done: some more than once, or not of the workload", i, w.Drawn, sent)
			case w.Drawn == 0:
			case known && !byChance(run.expected, w.OpeningOps):
				return failed(node.Name, "%s drew the same operations as %s: they share a generator", who, other)
			default:
				openings[w.Opening] = who
			}
		}
	}
	return passed("%d operations were drawn, each done once", drawn)
}

// checkScans: every scan asked each server once.
func checkScans(run *judged) finding {
	for _, node := range run.Clients() {
		for _, peer := range node.Summary.Peers {
			if scans, asked := node.Summary.Total.Scans, peer.Counts.Scans+peer.Counts.ScanParts; asked != scans {
				return failed(node.Name, "%d scans asked server %s %d times: a scan asks every server once", scans, peer.Peer, asked)
			}
		}
	}
	return passed("%d scans asked every server once", run.Total.Scans)
}

// byChance reports whether two workers with separate generators may draw the same
// ops operations: more often than once in 10^15 pairs. The probability of the
// likeliest operation bounds that of a repetition. It is that of its kind where
// operations are not drawn independently.
func byChance(e *expectation, ops uint64) bool {
	likeliest := cmp.Or(e.TopShare, 1) * slices.Max(e.kinds[:])
	return -float64(ops)*math.Log(likeliest) < math.Log(1e15)
}

// checkStreams: the operations are those of the seed and the workload.
func checkStreams(run *judged) finding {
	workers := 0
	for _, node := range run.Clients() {
		workers += len(node.Summary.Workers)
		for i, w := range node.Summary.Workers {
			if w.Opening != w.Redrawn {
				return failed(node.Name, "worker %d's first operations are not those of its seed and workload: a generator that is shared, or has other parameters", i)
			}
		}
	}
	return passed("the first operations of %d workers were drawn again", workers)
}
