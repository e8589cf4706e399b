package kvlab_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// BenchmarkOfLimit runs kvlab and measures its limit in turn, b.N times each, and
// reports the median of what each run reached of the limit measured right after it:
// a machine that others use too moves between two measurements by more than a run
// lacks to its limit. -benchtime 5x makes five pairs.
func BenchmarkOfLimit(b *testing.B) {
	for _, engine := range []string{"slab", "syncmap"} {
		b.Run("engine="+engine, func(b *testing.B) {
			out := b.TempDir()
			var reached []float64
			for b.Loop() {
				kvlabOps(b, out, "--server-args", "-engine "+engine)
				reached = append(reached, percentReached(b, filepath.Join(out, "latest", "run.json")))
			}
			b.Logf("per cent reached, pair by pair: %.1f", reached)
			b.ReportMetric(median(reached), "%-of-limit")
			b.ReportMetric(0, "ns/op") // the time of a pair says nothing
		})
	}
}

// percentReached measures the limit of a run, and returns what the run reached of it.
func percentReached(tb testing.TB, run string) float64 {
	tb.Helper()
	text, err := exec.Command("bin/kvsclient", "-ceiling", "-secs", "2", "-against", run).CombinedOutput()
	m := regexp.MustCompile(`(?m)^reached +([0-9.]+) % of the limit`).FindSubmatch(text)
	if err != nil || m == nil {
		tb.Fatalf("kvsclient -ceiling: %v\n%s", err, text)
	}
	return parse(tb, string(m[1]))
}
