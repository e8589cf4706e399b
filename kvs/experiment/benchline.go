package experiment

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"kvlab/metrics"
)

// Benchmark is summary.txt: a run in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), for benchstat. An INVALID run has no
// line, so that no median contains it.
func Benchmark(run metrics.Run) string {
	text := benchmarkHead(run) + benchmarkNote("run", run.ID) + benchmarkNote("commit", run.GitCommit) + benchmarkNote("verdict", run.Verdict.String())
	if run.Verdict.Valid {
		text += "\n" + benchmarkLine(benchmarkName(run, nil), run)
	}
	return text
}

// benchmarkHead returns the configuration lines. benchstat makes a separate table for
// each combination of their values.
func benchmarkHead(run metrics.Run) string {
	var b strings.Builder
	for _, line := range [][2]string{
		{"goos", runtime.GOOS},
		{"goarch", runtime.GOARCH},
		{"cpu", cpuModel(run)},
		{"lab", run.Lab.String()},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], line[1])
		}
	}
	return b.String()
}

// benchmarkNote is a line that benchstat ignores. Comparable runs may differ in it.
func benchmarkNote(name, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("# %s %s\n", name, value)
}

// benchmarks is summary.txt of all trials: one header, and a line for each valid trial,
// in the order of the points. The trials of a point share a name and a header, so that
// benchstat makes one sample of them. The variants of a comparison share the name of
// their common settings and differ in the key "side": benchstat -col side summary.txt.
func (s Sweep) benchmarks(done []Trial) string {
	var b strings.Builder
	var common []nameWord
	var points [][]metrics.Run
	for _, point := range metrics.Summarize(s.Plan, records(done)) {
		var runs []metrics.Run
		for _, trial := range done {
			if !trial.Verdict.Valid || !slices.Equal(trial.Point, point.Values) {
				continue
			}
			name := benchmarkName(trial.Run, s.Plan.Knobs)
			if b.Len() == 0 {
				b.WriteString(benchmarkHead(trial.Run) + benchmarkNote("run", s.Plan.ID) + benchmarkNote("commit", s.Plan.GitCommit) + "\n")
				common = name
			}
			common = slices.DeleteFunc(common, func(w nameWord) bool { return !slices.Contains(name, w) })
			runs = append(runs, trial.Run)
		}
		points = append(points, runs)
	}
	for i, runs := range points {
		if len(s.Plan.Variants) > 0 && len(runs) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", metrics.VariantKnob, metrics.VariantNames[i])
		}
		for _, run := range runs {
			name := common
			if len(s.Plan.Variants) == 0 {
				name = benchmarkName(run, s.Plan.Knobs)
			}
			b.WriteString(benchmarkLine(name, run))
		}
	}
	return b.String()
}

// nameWord is a part of a benchmark's name: "/key=value" or "/key".
type nameWord struct{ key, value string }

// benchmarkName identifies a benchmark: the nodes, the main flags, and the other knobs.
func benchmarkName(run metrics.Run, knobs []metrics.Knob) []nameWord {
	name := []nameWord{{"servers", strconv.Itoa(run.Count(metrics.Server))}, {"clients", strconv.Itoa(run.Count(metrics.Client))}}
	if run.Symmetric {
		name = append(name, nameWord{"symmetric", ""})
	}
	swept := func(k metrics.Knob) bool { return k.Name == "tls" }
	if run.Encrypted() && !slices.ContainsFunc(knobs, swept) {
		name = append(name, nameWord{"tls", "true"})
	}
	if n := run.Machines(); n < len(run.Nodes) {
		name = append(name, nameWord{"nodes", strconv.Itoa(n)})
	}
	named := run.Config(metrics.Client).MainFlags()
	for _, flag := range named {
		if value := run.Workload[flag]; value != "" {
			name = append(name, nameWord{flag, value})
		}
	}
	name = append(name, nameWord{metrics.EngineFlag, cmp.Or(run.Setting(metrics.Server, metrics.EngineFlag), "unknown")})
	for _, knob := range knobs {
		value := cmp.Or(run.Setting(metrics.Client, knob.Name), run.Setting(metrics.Server, knob.Name))
		if value != "" && knob.Name != metrics.EngineFlag && !slices.Contains(named, knob.Name) {
			name = append(name, nameWord{knob.Name, value})
		}
	}
	return name
}

// benchmarkLine is a valid run's line.
func benchmarkLine(name []nameWord, run metrics.Run) string {
	var b strings.Builder
	b.WriteString("BenchmarkKVS")
	for _, word := range name {
		b.WriteString("/" + word.key)
		if word.value != "" {
			b.WriteString("=" + benchmarkWord(word.value))
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

// benchmarkWord replaces the characters that a benchmark's name cannot have.
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
