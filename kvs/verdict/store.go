package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/format"
)

// checkExecuted: a foreign store's own counters say that each server executed what the
// clients verified, and what else they did: they tell fewer kinds apart than the clients.
// A third-party client's reads are allowed.
func checkExecuted(run *judged) finding {
	if run.Store == nil || run.Counting == metrics.CountsNone {
		return inapplicable("no driver of a store that counts")
	}
	all := uint64(0)
	for i, node := range run.Servers() {
		if node.Summary.Store == nil {
			return failed(node.Name, "the server gives no account of what the store counted")
		}
		w, verified := node.Summary.Store, run.Run.VerifiedBy(i)
		if w.Fault != "" {
			return failed(node.Name, "%s", w.Fault)
		}
		if f := checkFixed(node.Name, w, run.Workload.TTL() > 0); f.failed() {
			return f
		}
		if others, _ := w.Strangers(); len(others) > 0 {
			return failed(node.Name, "the store executed %s, which no client of the run sends: a third-party client's%s", format.Named(others), peersOf(w))
		}
		for _, c := range account.StoreCounts(run.Run, i) {
			switch {
			case c.Executed < c.Verified:
				return failed(node.Name, "the store executed %d %s and the clients verified %d: the others were answered without it, or its counters were reset", c.Executed, c.Kind, c.Verified)
			case c.Executed > c.Verified && c.Kind != account.ReadKinds && run.Counting == metrics.CountsExact:
				return failed(node.Name, "the store executed %d %s and the clients verified %d: a third-party client wrote, or some were sent twice%s", c.Executed, c.Kind, c.Verified, peersOf(w))
			}
		}
		if f := checkHits(node.Name, w, verified); f.failed() {
			return f
		}
		all += w.Executed().Ops()
	}
	return passed("the store executed %d operations, the clients verified %d", all, run.Total.Ops())
}

// peersOf names the connections of others, where the store tells them.
func peersOf(w *metrics.StoreWitness) string {
	if len(w.After.Peers) == 0 {
		return ""
	}
	return "; others are connected from " + strings.Join(w.After.Peers, ", ")
}

// checkFixed: no counter moved that no valid run moves. Keys expire with -ttl alone.
func checkFixed(node string, w *metrics.StoreWitness, ttl bool) finding {
	for _, name := range slices.Sorted(maps.Keys(w.Before.Fixed)) {
		if ttl && strings.Contains(name, "expired") { // expired_keys of Redis, get_expired of memcached
			continue
		}
		if before, after := w.Before.Fixed[name], w.After.Fixed[name]; before != after {
			return failed(node, "the store's %s went from %d to %d during the run", name, before, after)
		}
	}
	return finding{}
}

// checkHits: the store found as many keys as the clients' reads, and no more unless third-party clients
// read, too. Stores do not agree on what a delete counts.
func checkHits(node string, w *metrics.StoreWitness, verified metrics.Counts) finding {
	executed := w.Executed()
	if verified.Deletes > 0 || executed.Hits+executed.Misses == 0 {
		return finding{}
	}
	strangers := executed.Gets - min(executed.Gets, verified.Gets)
	_, beside := w.Strangers() // of which some read many keys
	if executed.Hits < verified.Hits || executed.Hits > verified.Hits+strangers && len(beside) == 0 {
		return failed(node, "the store found %d keys and the clients %d", executed.Hits, verified.Hits)
	}
	return finding{}
}

// held returns how many keys of the run a server holds at the end; false where it is not known,
// as of a foreign store that was not empty before.
func held(node metrics.RunNode) (keys uint64, known bool) {
	switch s := node.Summary; {
	case node.Storeless():
		return 0, false
	case !node.Foreign():
		return s.Seen.Records, true
	case s.Store == nil || s.Store.Before.Records > 0:
		return 0, false
	default:
		return s.Store.After.Records, true
	}
}

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
	if e := run.expected; !slices.ContainsFunc(run.Nodes, metrics.RunNode.Storeless) && (load.Puts != e.Records || load.Hits != e.Records) {
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
		case held+c.Deletes < all && run.Workload.TTL() <= 0:
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

// checkMisses: what was loaded was found, unless the workload deletes or its keys expire.
func checkMisses(run *judged) finding {
	if run.Total.Deletes > 0 || run.replays() {
		return inapplicable("the workload deletes, or is a trace, of which a client checks each miss")
	}
	if run.Workload.TTL() > 0 {
		return inapplicable("-ttl: a client counts a miss as wrong until a key may have expired, and the audit those of its keys")
	}
	for _, node := range run.Clients() {
		if n := node.Summary.InWindow.Misses; n > 0 {
			return failed(node.Name, "%d misses in the window after a full load: data was lost, or expired", n)
		}
	}
	return passed("no miss in the window")
}
