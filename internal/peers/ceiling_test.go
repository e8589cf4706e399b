package peers_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"kvlab/metrics"
)

// BenchmarkOfLimit runs kvlab b.N times, each time after its ceilings, and reports the
// median share of 1 / (1/in process + 1/wire) that the runs reach: the rate of one
// core after the other doing the clients' and the store's work and the network's. -benchtime 5x makes five
// runs.
func BenchmarkOfLimit(b *testing.B) {
	for _, engine := range []string{"slab", "syncmap"} {
		b.Run("engine="+engine, func(b *testing.B) {
			out := b.TempDir()
			var reached []float64
			for b.Loop() {
				reached = append(reached, percentReached(b, out, "-engine "+engine))
			}
			b.Logf("per cent reached, run by run: %.1f", reached)
			b.ReportMetric(median(reached), "%-of-limit")
			b.ReportMetric(0, "ns/op") // the time of a run says nothing
		})
	}
}

// percentReached returns which share of its limit a run reaches.
func percentReached(tb testing.TB, out, serverArgs string) float64 {
	tb.Helper()
	text, err := exec.Command("./run-cluster.sh", append(lengths(), "--local", "--out", out, "--server-args", serverArgs)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%v\n%s", err, text)
	}
	record, err := os.ReadFile(filepath.Join(out, "latest", "run.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var run metrics.Run
	if err := json.Unmarshal(record, &run); err != nil {
		tb.Fatal(err)
	}
	if run.Ceiling == nil || run.Ceiling.InprocOpsPerS == 0 || run.Ceiling.WireOpsPerS == 0 {
		tb.Fatalf("the run has no ceiling: %v", run.Ceiling)
	}
	return 100 * run.OpsPerS * (1/run.Ceiling.InprocOpsPerS + 1/run.Ceiling.WireOpsPerS)
}
