package ends

import (
	"testing"

	"kvlab/metrics"
)

// A closed loop that ended after few rounds of each worker is doubted, and an open one has its
// due times.
func TestFewRoundsOfOps(t *testing.T) {
	for _, test := range []struct {
		rounds  uint64
		offered *metrics.Offered
		want    metrics.CheckOutcome
	}{
		{19, nil, metrics.CheckDoubted}, {20, nil, metrics.CheckPassed}, {2, new(metrics.Offered), metrics.CheckPassed},
	} {
		client := &metrics.Summary{Offered: test.offered, Workers: []metrics.WorkerAccount{{Rounds: &metrics.Rounds{Rounds: test.rounds}}, {Rounds: &metrics.Rounds{}}}}
		run := metrics.Run{Workload: metrics.Settings{"ops": "100"}, Window: new(metrics.WindowLength), Nodes: []metrics.RunNode{{Role: metrics.Client, Summary: client}}}
		if got := Length(run); got.Outcome != test.want {
			t.Errorf("%d rounds of 2 workers: %+v, want %s", test.rounds, got, test.want)
		}
	}
}
