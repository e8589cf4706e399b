package cluster

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"

	"kvlab/metrics"
)

// workloadFlags are the client flags that define the work.
var workloadFlags = []string{
	"workload", "reads", "distribution", "zipfian", "theta", "hot-ops", "hot-keys", "records", "value-size", "key-prefix", "scramble",
	"batch", "target-latency", "workers", "connections", "socket-buffer", "inflight", "coalesce", "crc", "seed", "router", "codec", "transport", "verify", "warmup", "secs",
}

// benchmarkFlags are those of them that tell one benchmark from another in
// summary.txt.
var benchmarkFlags = []string{
	"workload", "distribution", "theta", "records", "value-size", "batch", "target-latency", "workers", "codec", "router", "secs",
}

// benchmarkText is summary.txt: a run in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), for benchstat. A run whose
// verdict is INVALID has no line in it, so that nobody's median contains it.
func benchmarkText(run metrics.Run) string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"goos", runtime.GOOS},
		{"goarch", runtime.GOARCH},
		{"cpu", cpuModel(run)},
		{"run", run.ID},
		{"commit", run.GitCommit},
		{"verdict", run.Verdict.String()},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
		}
	}
	if !run.Verdict.Valid {
		return b.String()
	}
	fmt.Fprintf(&b, "\nBenchmarkKVS/servers=%d/clients=%d", run.Count(metrics.Server), run.Count(metrics.Client))
	for _, flag := range benchmarkFlags {
		if value := run.Workload[flag]; value != "" {
			fmt.Fprintf(&b, "/%s=%s", flag, benchmarkWord(value))
		}
	}
	fmt.Fprintf(&b, "/engine=%s", benchmarkWord(cmp.Or(engine(run), "unknown")))
	fmt.Fprintf(&b, " %d %.0f ops/s", run.Ops, run.OpsPerS)
	if q, ok := run.Latency[metrics.CallLatency]; ok {
		for _, p := range []struct {
			unit  string
			value *float64
		}{{"p50-call-ns", q.P50}, {"p99-call-ns", q.P99}} {
			if p.value != nil {
				fmt.Fprintf(&b, " %.0f %s", *p.value*1e3, p.unit)
			}
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// benchmarkWord makes a flag's value fit for a benchmark's name.
func benchmarkWord(value string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == '=' || r == '*' || r > '~' {
			return '_'
		}
		return r
	}, value)
}

func cpuModel(run metrics.Run) string {
	for _, node := range run.Nodes {
		if node.Config != nil {
			return node.Config.Host.CPUModel
		}
	}
	return ""
}

func engine(run metrics.Run) string {
	for _, node := range run.Nodes {
		if node.Role == metrics.Server && node.Config != nil {
			return node.Config.Flags["engine"]
		}
	}
	return ""
}
