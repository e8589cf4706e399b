package verdict

import (
	"fmt"
	"math"
	"slices"

	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// checkLoad: the clients stored every record once and read each back, and a
// server holds in the end what was stored on it, no key more and none less.
func checkLoad(run judged) metrics.Verdict {
	stored := make(map[string]uint64) // by server
	var load metrics.Counts
	for _, node := range run.Clients() {
		for _, peer := range node.Summary.Peers {
			stored[peer.Peer] += peer.Load.Puts
			load = load.Add(peer.Load)
		}
	}
	if e := run.expected; !slices.ContainsFunc(run.Nodes, withoutStore) && (load.Puts != e.records || load.Hits != e.records) {
		return invalid("", "%d of %d records were loaded and %d read back: the store was not full when the workload began", load.Puts, e.records, load.Hits)
	}
	for _, node := range run.Servers() {
		if withoutStore(node) {
			continue
		}
		switch held := node.Summary.Seen.Records; {
		case held > stored[node.Name]:
			return invalid(node.Name, "%d keys are stored where %d were loaded: operations went to servers that do not own their keys (random routing?)", held, stored[node.Name])
		case held < stored[node.Name]:
			return invalid(node.Name, "%d keys are left of %d that were loaded: values expire, or are lost", held, stored[node.Name])
		}
	}
	return valid
}

// checkWorkers: what a worker drew was sent and came back, and is what its seed
// says.
func checkWorkers(run judged) metrics.Verdict {
	openings := make(map[string]string) // digest -> whose
	for _, node := range run.Clients() {
		for i, w := range node.Summary.Workers {
			who := fmt.Sprintf("worker %d of %s", i, node.Name)
			sent := w.Verified - w.Loaded
			switch other, known := openings[w.Opening]; {
			case sent < w.Drawn:
				return invalid(node.Name, "worker %d drew %d operations and %d of them were done: the others were dropped", i, w.Drawn, sent)
			case sent > w.Drawn:
				return invalid(node.Name, "worker %d drew %d operations and %d were done: some more than once, or not of the workload", i, w.Drawn, sent)
			case w.Drawn == 0:
			case known && !byChance(run.expected, w.OpeningOps):
				return invalid(node.Name, "%s drew the same operations as %s: they share a generator", who, other)
			default:
				openings[w.Opening] = who
			}
		}
	}
	return valid
}

// byChance reports whether two of a run's workers may draw the same operations,
// so many of them, without a generator in common: more often than once in 10^15
// pairs. The likeliest operation bounds how often one is drawn twice.
func byChance(e *expectation, ops uint64) bool {
	likeliest := e.topShare * max(e.gets, e.puts, e.readModifyWrites)
	return -float64(ops)*math.Log(likeliest) < math.Log(1e15)
}

// checkStreams: the operations are those of the seed and the workload.
func checkStreams(run judged) metrics.Verdict {
	for _, node := range run.Clients() {
		for i, w := range node.Summary.Workers {
			if w.Opening != w.Redrawn {
				return invalid(node.Name, "worker %d's first operations are not those of its seed and workload: a generator that is shared, or has other parameters", i)
			}
		}
	}
	return valid
}

// furthestOff is how far the number of n operations that are of a kind with a
// given share may be from its mean: further it is once in 10^9 times at most (S.
// Bernstein's inequality; Boucheron, Lugosi and Massart, Concentration
// Inequalities, 2013, section 2.8).
func furthestOff(n, share float64) float64 {
	variance := n * share * (1 - share)
	if variance == 0 {
		return 0
	}
	rare := math.Log(2 / 1e-9)
	return rare/3 + math.Sqrt(rare*rare/9+2*variance*rare)
}

// workDone are the operations that the servers applied after the load.
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

// checkKeys: each server got its share of the operations, and within it the keys
// that it was sampled with are as popular as the workload has them. The servers'
// samples together then tell a wrong skew from keys that went astray.
func checkKeys(run judged) metrics.Verdict {
	e := run.expected
	if e.cells == nil {
		return valid
	}
	counts, shares := countsByServer(run, len(e.cells)), make([]float64, len(e.cells))
	var routed, skewed, together stats.Fit
	var seenGroups [][]uint64
	for i, node := range run.Servers() {
		for _, share := range e.cells[i] {
			shares[i] += share
		}
		if seen := node.Summary.Seen; len(seen.Groups) == len(e.cells[i]) {
			skewed.Add(seen.Groups, e.cells[i], e.variance)
			seenGroups = append(seenGroups, seen.Groups)
		}
	}
	routed.Add(counts, shares, e.variance*float64(len(e.cells[0])))
	if routed.Fits() && skewed.Fits() {
		return valid
	}
	groups, of := columns(seenGroups), columns(e.cells)
	together.Add(groups, of, e.variance*float64(len(e.cells)))
	if together.Fits() {
		at := furthest(counts, shares)
		return invalid(run.Servers()[at].Name, "the server got %s of the operations of %s where the router gives it %.2f %%: wrong or random routing (chi-square %.0f and %.0f, at most %.0f and %.0f)",
			percent(counts, at), e.name, 100*shares[at], routed.Statistic, skewed.Statistic, routed.Limit(), skewed.Limit())
	}
	at := furthest(groups, of)
	return invalid("", "one of %d groups of keys got %s of the operations where %s gives it %.2f %%: the skew is wrong (wrong theta?) (chi-square %.0f, at most %.0f)",
		len(groups), percent(groups, at), e.name, 100*of[at], together.Statistic, together.Limit())
}

// countsByServer are the operations after the load that the clients had each
// server do, which are those that it applied: checkPairs.
func countsByServer(run judged, servers int) []uint64 {
	counts := make([]uint64, servers)
	for _, client := range run.Summaries(metrics.Client) {
		for i, peer := range client.Peers {
			counts[i] += peer.Counts.Ops() - peer.Load.Ops()
		}
	}
	return counts
}

// columns adds rows of equal length up.
func columns[T uint64 | float64](rows [][]T) []T {
	var sum []T
	for _, row := range rows {
		if sum == nil {
			sum = make([]T, len(row))
		}
		for i, x := range row {
			sum[i] += x
		}
	}
	return sum
}

// percent is a count's share of all in words.
func percent(counts []uint64, at int) string {
	n := uint64(0)
	for _, c := range counts {
		n += c
	}
	return fmt.Sprintf("%.2f %%", 100*float64(counts[at])/float64(n))
}

// furthest is the cell whose count is furthest from its share.
func furthest(counts []uint64, shares []float64) int {
	n := 0.0
	for _, c := range counts {
		n += float64(c)
	}
	at, most := 0, -1.0
	for i, c := range counts {
		if off := math.Abs(float64(c) - n*shares[i]); off > most {
			at, most = i, off
		}
	}
	return at
}

const (
	// ownWords are the bytes of a value that may repeat those of another: the key's
	// hash, and its writer and version.
	ownWords = 16
	// dense is the share of the other bytes that DEFLATE leaves at least; it
	// leaves all of random ones.
	dense = 0.85
	// enoughValues is how many bytes are judged at least: DEFLATE's own overhead
	// and the windows of its matches make less of fewer.
	enoughValues = 2 << 10
)

// checkValues: what was stored could not be compressed, so that no part of the
// path was spared work.
func checkValues(run judged) metrics.Verdict {
	for _, node := range run.Servers() {
		seen := node.Summary.Seen
		for _, v := range []metrics.Values{seen.Before, seen.Values} {
			if v.Bytes < enoughValues || v.Bytes <= ownWords*v.Count {
				continue
			}
			if float64(v.Compressed) < dense*float64(v.Bytes-ownWords*v.Count) {
				return invalid(node.Name, "%d values of %d bytes in all can be compressed to %d: the values are constant or compressible", v.Count, v.Bytes, v.Compressed)
			}
		}
	}
	return valid
}

// checkMisses: what was loaded was found.
func checkMisses(run judged) metrics.Verdict {
	for _, node := range run.Clients() {
		if n := node.Summary.InWindow.Misses; n > 0 {
			return invalid(node.Name, "%d misses in the window after a full load: data was lost, or expired", n)
		}
	}
	return valid
}
