package plan

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

func TestCheckTransactions(t *testing.T) {
	for _, test := range []struct{ txn, policy, sync, target, want string }{
		{"0", "nowait", "", "", ""},
		{"3", "nowait", "", "", ""},
		{"3", "woundwait", "", "", ""},
		{"3", "", "", "redis", ""},
		{"3", "nowait", "disk", "", "--txn 3: -engine some is on disk, and the votes and decisions of transactions are not: want one in memory, such as --engine syncmap"},
		{"0", "waitdie", "", "", "--policy waitdie: it is for transactions: want --txn with the operations of each, such as --txn 3"},
	} {
		err := CheckTransactions(map[metrics.Role]metrics.Settings{
			metrics.Server: {"policy": test.policy, "sync": test.sync, "engine": "some", "target": test.target},
			metrics.Client: {"txn": test.txn, "target": test.target}})
		if err == nil && test.want != "" || err != nil && (test.want == "" || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}
