package cluster

import (
	"path/filepath"
	"testing"

	"kvlab/metrics"
)

func (tr *testRun) sweepFolder(t *testing.T) (metrics.Sweep, []metrics.Trial) {
	t.Helper()
	plan, trials, err := metrics.ReadSweep(filepath.Join(tr.out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	return plan, trials
}
