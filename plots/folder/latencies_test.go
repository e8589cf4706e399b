package folder

import (
	"testing"

	"kvlab/metrics"
	"kvlab/plots/folder/foldertest"
)

func TestLoadMergesTheWindowOfEveryClient(t *testing.T) {
	r := load(t, foldertest.MakeRun(t, foldertest.Plan{Servers: 1, Clients: 3, WindowS: 4, ClientOpsPerS: 2e6, Verdict: foldertest.Valid, Seed: 11}))
	calls := uint64(0)
	for _, log := range r.NodesOf(metrics.Client) {
		for _, i := range log.Intervals {
			if i.Value.Phase == metrics.Window {
				calls += i.Value.Counts.Calls
			}
		}
	}
	if got := uint64(r.Latencies.Call.TotalCount()); got != calls {
		t.Errorf("%d calls were timed, want %d", got, calls)
	}
	if got := uint64(r.Latencies.Op.TotalCount()); got != calls*foldertest.OpsPerCall {
		t.Errorf("%d operations were timed, want %d", got, calls*foldertest.OpsPerCall)
	}
}
