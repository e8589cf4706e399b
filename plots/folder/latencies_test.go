package folder

import (
	"math"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

func TestLoadMergesTheWindowOfEveryClient(t *testing.T) {
	r := load(t, foldertest.MakeRun(t, foldertest.Plan{Servers: 1, Clients: 3, WindowS: 4, ClientOpsPerS: 2e6, Verdict: foldertest.Valid, Seed: 11}))
	calls := uint64(0)
	for _, i := range r.clientIntervals() {
		if i.Phase == metrics.Window {
			calls += uint64(math.Round(i.Values[OpsPerS]*i.LengthS)) / foldertest.OpsPerCall
		}
	}
	if got := uint64(r.Latencies.Call.TotalCount()); got != calls {
		t.Errorf("%d calls were timed, want %d", got, calls)
	}
	if got := uint64(r.Latencies.Op.TotalCount()); got != calls*foldertest.OpsPerCall {
		t.Errorf("%d operations were timed, want %d", got, calls*foldertest.OpsPerCall)
	}
}
