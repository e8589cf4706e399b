package folder

import (
	"testing"

	"kvlab/metrics"
)

// A run that replays a trace is named by it, and not by the workload whose place it takes.
func TestDescribeWork(t *testing.T) {
	for want, s := range map[string]metrics.Settings{
		"YCSB-B theta 0.99": {"workload": "YCSB-B", "theta": "0.99"},
		"replay of t.kvt":   {"workload": "YCSB-B", "theta": "0.99", "replay": "traces/t.kvt"},
	} {
		if got := DescribeWork(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
