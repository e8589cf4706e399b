package report

import (
	"fmt"

	"kvlab/metrics"
)

// accountRow compares what clients verified with what servers applied.
type accountRow struct {
	What            string
	Client, Applied uint64
}

// Equal reports whether both counts are equal.
func (a accountRow) Equal() bool { return a.Client == a.Applied }

// accounts compare the run's operations per kind, from load to drain.
func accounts(run metrics.Run) []accountRow {
	var rows []accountRow
	total, applied := run.Total.ByKind(), run.Applied.ByKind()
	for k, name := range metrics.KindNames {
		rows = append(rows, accountRow{name, total[k], applied[k]})
	}
	return append(rows, accountRow{"all", run.Total.Ops(), run.Applied.Ops()})
}

// pair is a client and a server.
type pair struct{ client, server string }

// disagreements returns both counts of each client-server pair whose counts differ,
// and the number of pairs compared.
func disagreements(run metrics.Run) (rows []accountRow, pairs int) {
	sides := map[metrics.Role]map[pair]metrics.Counts{metrics.Client: {}, metrics.Server: {}}
	var order []pair
	for _, node := range run.Nodes {
		if node.Summary == nil || sides[node.Role] == nil {
			continue
		}
		for _, peer := range node.Summary.Peers {
			key := pair{client: node.Name, server: peer.Peer}
			if node.Role == metrics.Server {
				key = pair{client: peer.Peer, server: node.Name}
			}
			if !counted(sides, key) {
				order = append(order, key)
			}
			sides[node.Role][key] = sides[node.Role][key].Add(peer.Counts)
		}
	}
	for _, key := range order {
		client, server := sides[metrics.Client][key], sides[metrics.Server][key]
		same := client.ByKind() == server.ByKind()
		if !same {
			rows = append(rows, accountRow{fmt.Sprintf("%s at %s", key.client, key.server), client.Ops(), server.Ops()})
		}
	}
	return rows, len(order)
}

// counted reports whether the client or the server has named the pair already.
func counted(sides map[metrics.Role]map[pair]metrics.Counts, key pair) bool {
	_, byClient := sides[metrics.Client][key]
	_, byServer := sides[metrics.Server][key]
	return byClient || byServer
}
