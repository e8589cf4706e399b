package cluster

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"kvlab/metrics"
)

// workloadFlags are the client flags that define the work.
var workloadFlags = []string{
	"workload", "reads", "distribution", "zipfian", "theta", "hot-ops", "hot-keys", "records", "value-size", "key-prefix", "scramble",
	"batch", "target-latency", "workers", "connections", "socket-buffer", "inflight", "coalesce", "crc", "rate", "seed", "router", "codec", "transport", "verify", "warmup", "secs",
}

// benchmarkFlags are those of them that tell one benchmark from another in
// summary.txt.
var benchmarkFlags = []string{
	"workload", "distribution", "theta", "records", "value-size", "batch", "target-latency", "workers", "rate", "codec", "router", "secs",
}

// benchmarkText is summary.txt: a run in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), for benchstat. A run whose
// verdict is INVALID has no line in it, so that nobody's median contains it.
func benchmarkText(run metrics.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sverdict: %s\n", benchmarkHead(run, run.ID), run.Verdict)
	if run.Verdict.Valid {
		b.WriteString("\n" + benchmarkLine(run, nil))
	}
	return b.String()
}

// benchmarkHead is the file's configuration lines.
func benchmarkHead(run metrics.Run, id string) string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"goos", runtime.GOOS},
		{"goarch", runtime.GOARCH},
		{"cpu", cpuModel(run)},
		{"lab", run.Lab.String()},
		{"run", id},
		{"commit", run.GitCommit},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
		}
	}
	return b.String()
}

// benchmarkLines is summary.txt of several trials: one header, and the line of
// each of the valid runs. What tells the trials apart is only their order, as
// benchstat makes one sample of what has one name and one header.
func benchmarkLines(plan metrics.Sweep, runs []metrics.Run) string {
	var b strings.Builder
	for i, run := range runs {
		if i == 0 {
			b.WriteString(benchmarkHead(run, plan.ID) + "\n")
		}
		b.WriteString(benchmarkLine(run, plan.Knobs))
	}
	return b.String()
}

// benchmarkLine is a valid run's line. Its name has the flags that tell one
// benchmark from another, and the knobs that are none of them.
func benchmarkLine(run metrics.Run, knobs []metrics.Knob) string {
	var b strings.Builder
	fmt.Fprintf(&b, "BenchmarkKVS/servers=%d/clients=%d", run.Count(metrics.Server), run.Count(metrics.Client))
	if run.Symmetric {
		b.WriteString("/symmetric")
	}
	if n := run.Machines(); n < len(run.Nodes) {
		fmt.Fprintf(&b, "/nodes=%d", n)
	}
	for _, flag := range benchmarkFlags {
		if value := run.Workload[flag]; value != "" {
			fmt.Fprintf(&b, "/%s=%s", flag, benchmarkWord(value))
		}
	}
	fmt.Fprintf(&b, "/engine=%s", benchmarkWord(cmp.Or(flagOf(run, metrics.Server, "engine"), "unknown")))
	for _, knob := range knobs {
		value := cmp.Or(flagOf(run, metrics.Client, knob.Name), flagOf(run, metrics.Server, knob.Name))
		if value != "" && knob.Name != "engine" && !slices.Contains(benchmarkFlags, knob.Name) {
			fmt.Fprintf(&b, "/%s=%s", knob.Name, benchmarkWord(value))
		}
	}
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
	if run.Ceiling != nil && run.Ceiling.Headroom > 0 {
		fmt.Fprintf(&b, " %.2f headroom", run.Ceiling.Headroom)
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

// flagOf is the value of a flag on the first node of a role that has said what
// its flags are; "" without one.
func flagOf(run metrics.Run, role metrics.Role, flag string) string {
	for _, node := range run.Nodes {
		if node.Role == role && node.Config != nil {
			return node.Config.Flags[flag]
		}
	}
	return ""
}
