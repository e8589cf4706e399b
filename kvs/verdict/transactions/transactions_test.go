package transactions

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// run returns a run of two servers and a client with 10 commits: 4 of s0, 1 of s1, and 5 of both.
func run() metrics.Run {
	counts := metrics.TransactionCounts{Attempts: 17, Commits: 10, Aborts: map[string]uint64{"conflict": 6, "fenced": 1}, Single: 5, Cross: 5, Parts: 10, Ops: 30, Retries: []uint64{6, 3, 0, 1}}
	server := func(name string, runs, refused uint64) metrics.RunNode {
		return metrics.RunNode{Name: name, Role: metrics.Server, Summary: &metrics.Summary{Peers: []metrics.PeerCounts{
			{Peer: "c0", Transactions: metrics.TransactionTally{Runs: runs, Parts: 5, Shares: float64(runs) + 2.5, Refused: refused}}}}}
	}
	client := &metrics.Summary{Transactions: &metrics.Transactions{Total: counts, Window: counts}, Peers: []metrics.PeerCounts{
		{Peer: "s0", Transactions: metrics.TransactionTally{Runs: 4, Parts: 5}}, {Peer: "s1", Transactions: metrics.TransactionTally{Runs: 1, Parts: 5}}}}
	return metrics.Run{Workload: metrics.Settings{"txn": "3"}, Nodes: []metrics.RunNode{server("s0", 4, 5), server("s1", 1, 3), {Name: "c0", Role: metrics.Client, Summary: client}}}
}

// Every lie about the numbers of transactions is found, and says which numbers differ.
func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(run *metrics.Run, client *metrics.Summary)
		want  string // of the evidence; "" of a passed check
	}{
		"honest":     {func(*metrics.Run, *metrics.Summary) {}, ""},
		"no account": {func(_ *metrics.Run, c *metrics.Summary) { c.Transactions = nil }, "the client gives no account of its transactions (-txn)"},
		"an abort counted as a commit": {func(_ *metrics.Run, c *metrics.Summary) {
			t := &c.Transactions.Total
			t.Commits, t.Single, t.Ops, t.Retries[0], t.Aborts["conflict"] = 11, 6, 33, 7, 5
			c.Peers[0].Transactions.Runs++
		}, "the client knows 5 commits of server s0 alone and 5 with others, and the server counts 4 and 5"},
		"a commit counted by each participant": {func(_ *metrics.Run, c *metrics.Summary) {
			t := &c.Transactions.Total
			t.Attempts, t.Commits, t.Cross, t.Ops, t.Retries[0] = 22, 15, 10, 45, 11
		}, "10 commits of several servers have 10 parts, fewer than two each"},
		"a commit counted twice by a server": {func(run *metrics.Run, _ *metrics.Summary) { run.Nodes[1].Summary.Peers[0].Transactions.Parts++ },
			"the client knows 1 commits of server s1 alone and 5 with others, and the server counts 1 and 6"},
		"a commit counted as an abort": {func(_ *metrics.Run, c *metrics.Summary) {
			t := &c.Transactions.Total
			t.Commits, t.Single, t.Ops, t.Retries[0], t.Aborts["conflict"] = 9, 4, 27, 5, 7
			c.Transactions.Window = metrics.TransactionCounts{}
			c.Peers[0].Transactions.Runs--
		}, "the client knows 3 commits of server s0 alone"},
		"aborts nowhere":    {func(_ *metrics.Run, c *metrics.Summary) { c.Transactions.Total.Aborts = nil }, "17 attempts are not 10 commits, 0 aborts and 0 unknown"},
		"aborts made up":    {func(run *metrics.Run, _ *metrics.Summary) { run.Nodes[0].Summary.Peers[0].Transactions.Refused = 2 }, "the clients count 6 aborts by locks, and the servers refused 5 parts"},
		"halved":            {func(_ *metrics.Run, c *metrics.Summary) { c.Transactions.Total.Ops = 15 }, "10 commits have 15 operations, -txn is 3"},
		"without retries":   {func(_ *metrics.Run, c *metrics.Summary) { c.Transactions.Total.Retries = []uint64{9} }, "10 commits, and by their attempts 9"},
		"too many attempts": {func(_ *metrics.Run, c *metrics.Summary) { c.Transactions.Total.Retries = []uint64{5, 0, 0, 5} }, "17 attempts, and the commits alone had 25"},
		"window":            {func(_ *metrics.Run, c *metrics.Summary) { c.Transactions.Window.Commits = 11 }, "11 commits of 17 attempts are counted in the window"},
		"another sum":       {func(_ *metrics.Run, c *metrics.Summary) { c.Transactions.Total.Parts++ }, "the clients count 5 commits of one server and 11 parts of the others, and by server 5 and 10"},
		"an unknown one that is committed": {func(run *metrics.Run, c *metrics.Summary) {
			c.Transactions.Total.Attempts, c.Transactions.Total.Unknown = 18, 1
			run.Nodes[0].Summary.Peers[0].Transactions.Runs++
		}, ""},
		"a foreign store": {func(run *metrics.Run, _ *metrics.Summary) {
			run.Store = new(metrics.Store)
			run.Nodes[0].Summary.Peers, run.Nodes[1].Summary.Peers = nil, nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			run := run()
			test.spoil(&run, run.Nodes[2].Summary)
			got := Judge(run)
			if passed := got.Outcome == metrics.CheckPassed; passed != (test.want == "") || !strings.HasPrefix(got.Evidence, test.want) {
				t.Errorf("%s: %s; want %q", got.Outcome, got.Evidence, test.want)
			}
		})
	}
	if got := Judge(metrics.Run{}); got.Outcome != metrics.CheckInapplicable {
		t.Errorf("without -txn: %+v", got)
	}
}
