package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/format"
)

// clientSum is what all clients loaded, missed before the audit, and checked.
type clientSum struct {
	Loaded, Missed uint64
	metrics.Verification
}

// sumClients adds up what all clients loaded and checked.
func sumClients(run metrics.Run) (sum clientSum) {
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			sum.Loaded += peer.Load.Puts
			sum.Missed += peer.Counts.Misses - peer.Audit.Misses
		}
		sum.Add(client.Verification)
	}
	return sum
}

// kindCount is the operations of a kind that clients verified and that servers applied.
type kindCount struct {
	Kind              string
	Verified, Applied uint64
}

// countsOf compares the operations that clients verified with those that servers
// applied, per kind and in all.
func countsOf(run metrics.Run) (all []kindCount) {
	if run.Store != nil {
		for i := range run.Servers() {
			for at, c := range account.StoreCounts(run, i) {
				if i == 0 {
					all = append(all, kindCount{Kind: c.Kind})
				}
				all[at].Verified, all[at].Applied = all[at].Verified+c.Verified, all[at].Applied+c.Executed
			}
		}
		return all
	}
	total, applied := run.Total.ByKind(), run.Applied.ByKind()
	for kind, name := range metrics.KindNames {
		if kind == metrics.OpKinds { // what follows is no operation
			all = append(all, kindCount{"all", run.Total.Ops(), run.Applied.Ops()})
		}
		if run.Total.Shows(kind) || run.Applied.Shows(kind) {
			all = append(all, kindCount{name, total[kind], applied[kind]})
		}
	}
	return all
}

// ratesTable has a row for each node: what it did in the window, by kind.
func ratesTable(run metrics.Run) table {
	var all metrics.Counts
	for _, node := range run.Nodes {
		if node.Summary != nil {
			all = all.Add(node.Summary.InWindow)
		}
	}
	t := table{Columns: []string{"node", "role", "ops/s in the window"}, Names: []int{0, 1}}
	for kind, name := range metrics.KindNames {
		if all.Shows(kind) {
			t.Columns = append(t.Columns, name+"s")
		}
	}
	t.Columns = append(t.Columns, "misses", "median of its seconds, ops/s")
	for _, node := range run.Nodes {
		texts := []string{node.Name, string(node.Role)}
		if s := node.Summary; s != nil && (node.Role == metrics.Client || run.Counting != metrics.CountsNone || s.InWindow.Ops() > 0) {
			texts = append(texts, format.Count(s.OpsPerS()))
			for kind, n := range s.InWindow.ByKind() {
				if all.Shows(kind) {
					texts = append(texts, grouped(n))
				}
			}
			texts = append(texts, grouped(s.InWindow.Misses))
		}
		for len(texts) < len(t.Columns)-1 {
			texts = append(texts, absent)
		}
		median := absent
		if node.MedianOpsPerS != nil {
			median = format.Count(*node.MedianOpsPerS)
		}
		t.add(append(texts, median)...)
	}
	return t
}

// disagreements are the client-server pairs whose counts differ.
type disagreements struct {
	table
	Compared int // pairs
}

// disagreementsOf compares the counts of each client-server pair. of ends the caption.
func disagreementsOf(run metrics.Run, of string) disagreements {
	if run.Store != nil {
		return disagreements{} // its servers do not know their clients
	}
	client, server := map[string]metrics.Counts{}, map[string]metrics.Counts{} // by "client at server"
	for _, node := range run.Nodes {
		if node.Summary == nil {
			continue
		}
		for _, peer := range node.Summary.Peers {
			counts, name := client, node.Name+" at "+peer.Peer
			if node.Role == metrics.Server {
				counts, name = server, peer.Peer+" at "+node.Name
			}
			if !run.Restart.Of(node.Name) && !run.Restart.Of(peer.Peer) { // its counts are only bounded
				counts[name] = counts[name].Add(peer.Counts)
			}
		}
	}
	all := maps.Clone(client)
	maps.Copy(all, server)
	t := table{Columns: []string{"client at server", "verified by the client", "applied by the server"}, Names: []int{0}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if client[name].ByKind() != server[name].ByKind() {
			t.add(name, grouped(client[name].Ops()), grouped(server[name].Ops()))
		}
	}
	t.Caption = fmt.Sprintf("%d of %d client-server pairs do not agree", len(t.Rows), len(all)) + of
	return disagreements{t, len(all)}
}

// traitsTable has a row for each property of the machines and each value of it, without what
// no machine shows.
func traitsTable(p *metrics.Preflight) table {
	t := table{Caption: "Properties of the machines", Columns: []string{"property", "value", "machines"}, Names: []int{0, 1, 2}}
	machines := make(map[string][]string) // by property and value
	for _, m := range p.Machines {
		if m.Facts == nil {
			continue
		}
		for name, value := range m.Facts.Traits {
			if value != metrics.Absent && value != "none" {
				key := name + "\x00" + value
				machines[key] = append(machines[key], m.Name())
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(machines)) {
		name, value, _ := strings.Cut(key, "\x00")
		which := strings.Join(machines[key], ", ")
		if len(machines[key]) == len(p.Machines) {
			which = "all"
		}
		t.add(name, value, which)
	}
	return t
}
