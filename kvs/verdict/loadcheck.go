package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"kvlab/metrics"
)

// checkLoad: the clients stored every record once and read each back, and at the end each
// server holds exactly the keys that were loaded on it and inserted, except deleted ones. A
// key that was deleted may have been written again.
func checkLoad(run *judged) finding {
	servers := run.Servers()
	added := make([]metrics.Counts, len(servers))
	var load metrics.Counts
	for _, node := range run.Clients() {
		for i, peer := range node.Summary.Peers[:min(len(servers), len(node.Summary.Peers))] {
			load = load.Add(peer.Load)
			peer.Counts.Puts = peer.Load.Puts
			added[i] = added[i].Add(peer.Counts)
		}
	}
	if e := run.expected; !slices.ContainsFunc(run.Nodes, withoutStore) && (load.Puts != e.Records || load.Hits != e.Records) {
		return failed("", "%d of %d records were loaded and %d read back: the store was not full when the workload began", load.Puts, e.Records, load.Hits)
	}
	for i, node := range servers {
		held, known := held(node)
		if !known {
			continue
		}
		c, how, deletes := added[i], "loaded", ""
		if c.Inserts > 0 {
			how = "loaded or inserted"
		}
		if c.Deletes > 0 {
			deletes = fmt.Sprintf(", with %d deletes", c.Deletes)
		}
		switch all := c.Puts + c.Inserts; {
		case held > all:
			return failed(node.Name, "%d keys are stored where %d were %s: operations went to servers that do not own their keys (random routing?)", held, all, how)
		case held+c.Deletes < all:
			return failed(node.Name, "%d keys are left of %d that were %s%s: values expire, or are lost", held, all, how, deletes)
		}
	}
	return passed("%d records were loaded and read back, and are where they belong", load.Puts)
}

const (
	// ownWords are the bytes of a value that may repeat those of another: the key's
	// hash, and its writer and version.
	ownWords = 16
	// dense is the least share of the other bytes that DEFLATE must leave; it leaves
	// all of random bytes.
	dense = 0.85
	// enoughValues is the smallest sample, in bytes, that is checked: DEFLATE's
	// overhead distorts smaller ones.
	enoughValues = 2 << 10
)

// checkValues: the stored values are incompressible, so that no part of the path did
// less work.
func checkValues(run *judged) finding {
	bytes, compressed := uint64(0), uint64(0)
	for _, node := range run.Servers() {
		seen := cmp.Or(node.Summary.Seen, &metrics.Seen{})
		for _, v := range []metrics.Values{seen.Before, seen.Values} {
			if v.Bytes < enoughValues || v.Bytes <= ownWords*v.Count {
				continue
			}
			bytes, compressed = bytes+v.Bytes, compressed+v.Compressed
			if float64(v.Compressed) < dense*float64(v.Bytes-ownWords*v.Count) {
				return failed(node.Name, "%d values of %d bytes in all can be compressed to %d: the values are constant or compressible", v.Count, v.Bytes, v.Compressed)
			}
		}
	}
	return passed("%d sampled bytes of values have %d when compressed", bytes, compressed)
}

// checkMisses: what was loaded was found, unless the workload deletes.
func checkMisses(run *judged) finding {
	if run.Total.Deletes > 0 {
		return inapplicable("the workload deletes")
	}
	for _, node := range run.Clients() {
		if n := node.Summary.InWindow.Misses; n > 0 {
			return failed(node.Name, "%d misses in the window after a full load: data was lost, or expired", n)
		}
	}
	return passed("no miss in the window")
}
