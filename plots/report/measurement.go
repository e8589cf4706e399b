package report

import (
	"fmt"
	"maps"
	"slices"

	"kvlab/metrics"
)

// clientSum is what all clients loaded and checked.
type clientSum struct {
	Loaded uint64
	metrics.Verification
}

// sumClients adds up what all clients loaded and checked.
func sumClients(run metrics.Run) (sum clientSum) {
	for _, client := range run.Summaries(metrics.Client) {
		for _, peer := range client.Peers {
			sum.Loaded += peer.Load.Puts
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
	total, applied := run.Total.ByKind(), run.Applied.ByKind()
	for kind, name := range metrics.KindNames {
		all = append(all, kindCount{name, total[kind], applied[kind]})
	}
	return append(all, kindCount{"all", run.Total.Ops(), run.Applied.Ops()})
}

// disagreements are the client-server pairs whose counts differ.
type disagreements struct {
	table
	Compared int // pairs
}

// disagreementsOf compares the counts of each client-server pair. of ends the caption.
func disagreementsOf(run metrics.Run, of string) disagreements {
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
			counts[name] = counts[name].Add(peer.Counts)
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
