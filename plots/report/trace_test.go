package report

import (
	"strings"
	"testing"

	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
)

// The table of a trace has its commands, what they become, and what the run sent of it.
func TestTraceTable(t *testing.T) {
	client := &metrics.Summary{Peers: []metrics.PeerCounts{
		{Counts: metrics.Counts{Gets: 40, Puts: 1234, ReadModifyWrites: 1}, Load: metrics.Counts{Puts: 234, Gets: 30}},
		{Counts: metrics.Counts{Gets: 3}},
	}}
	run := metrics.Run{Nodes: []metrics.RunNode{{Role: metrics.Client, Summary: client}}, Skew: &metrics.Skew{HitRate: 1, Replay: &metrics.Replay{
		Expiring: 1900, Smaller: 7, Least: 24,
		Commands: []metrics.TraceCommand{{Name: "add", Ops: 5, LeftOut: 3, As: []uint64{0, 2, 0, 0, 0}}, {Name: "cas", Ops: 2000, As: []uint64{0, 1999, 1, 0, 0}}, {Name: "get", Ops: 20, As: []uint64{20, 0, 0, 0, 0}}},
	}}}
	want := `   command  in the trace  left out  gets   puts  read-modify-writes
       add             5         3     0      2                   0
       cas         2,000         0     0  1,999                   1
       get            20         0    20      0                   0
       all         2,025         3    20  2,001                   1
  this run             -         -    13  1,000                   1
`
	if got := traceTable(run).Text(); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(RunSummary(run), want) {
		t.Errorf("the table is not in\n%s", RunSummary(run))
	}
	if got := strings.Join(answer.Differences(run.Skew), "; "); got != "1.9k times to live ignored; 7 values of fewer than 24 bytes sent with 24" {
		t.Errorf("differences %q", got)
	}
	if rows := traceTable(metrics.Run{}).Rows; rows != nil || answer.Differences(nil) != nil {
		t.Errorf("%d rows of no trace", len(rows))
	}
}
