package plan

import (
	"fmt"

	"kvlab/kvs/txn"
	"kvlab/metrics"
)

// CheckTransactions returns an error that names the flag and its right form if servers and
// clients with these final settings do not have transactions together.
func CheckTransactions(settings map[metrics.Role]metrics.Settings) error {
	server, client := settings[metrics.Server], settings[metrics.Client]
	switch n := client.Txn(); {
	case !server.Own():
	case n > 0 && server.Sync() != "":
		return fmt.Errorf("--txn %d: -engine %s is on disk, and the votes and decisions of transactions are not: want one in memory, such as --engine syncmap", n, server.Engine())
	case n == 0 && server.Policy() != "" && server.Policy() != txn.PolicyNames[0]:
		return fmt.Errorf("--policy %s: it is for transactions: want --txn with the operations of each, such as --txn 3", server.Policy())
	}
	return nil
}
