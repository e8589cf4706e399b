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

// Benchmark returns summary.txt: a run in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), for benchstat. An INVALID run has no
// line, so that no median contains it.
func Benchmark(run metrics.Run) string {
	text := benchmarkHead(&run, run.ID, run.GitCommit) + benchmarkLine("# verdict ", run.Verdict.String())
	if run.Verdict.Stands() {
		text += "\n" + benchmarkResult(benchmarkName(&run, nil), &run)
	}
	return text
}

// benchmarkHead returns the configuration lines, and the comments, in which comparable
// runs may differ. benchstat makes a separate table for each combination of the
// configuration's values.
func benchmarkHead(run *metrics.Run, id, commit string) string {
	cpu := ""
	if config := cmp.Or(run.Config(metrics.Server), run.Config(metrics.Client)); config != nil {
		cpu = config.Host.CPUModel
	}
	return benchmarkLine("goos: ", runtime.GOOS) + benchmarkLine("goarch: ", runtime.GOARCH) + benchmarkLine("cpu: ", cpu) +
		benchmarkLine("lab: ", run.Lab.String()) + benchmarkLine("# run ", id) + benchmarkLine("# commit ", commit)
}

// benchmarkLine returns a line, or "" without a value.
func benchmarkLine(name, value string) string {
	if value == "" {
		return ""
	}
	return name + value + "\n"
}

// benchmarks returns summary.txt of all trials: one header, and a line for each valid trial,
// in the order of the points. The trials of a point share a name and a header, so that
// benchstat makes one sample of them. The variants of a comparison, the points of a
// study and the entries of a class share the name of their common settings and differ in the
// key "side", "point" or "entry": benchstat -col side summary.txt.
func (s Sweep) benchmarks(done []metrics.Trial) string {
	var valid []metrics.Trial
	for _, point := range metrics.Summarize(s.Plan, done) {
		valid = append(valid, point.Valid...)
	}
	if len(valid) == 0 {
		return ""
	}
	text, side := benchmarkHead(valid[0].Run, s.Plan.ID, s.Plan.GitCommit)+"\n", ""
	common := benchmarkName(valid[0].Run, s.Plan.Knobs)
	for _, trial := range valid {
		name := benchmarkName(trial.Run, s.Plan.Knobs)
		common = slices.DeleteFunc(common, func(word string) bool { return !slices.Contains(name, word) })
	}
	for _, trial := range valid {
		name := common
		if len(s.Plan.Variants) == 0 && s.Plan.Study == nil && s.Plan.Class == nil {
			name = benchmarkName(trial.Run, s.Plan.Knobs)
		} else if side != trial.Point[0] {
			side = trial.Point[0]
			text += benchmarkLine(s.Plan.Knobs[0].Name+": ", side)
		}
		text += benchmarkResult(name, trial.Run)
	}
	return text
}

// benchmarkName identifies a benchmark: the nodes, the main flags, and the other knobs,
// as "key=value" or "key".
func benchmarkName(run *metrics.Run, knobs []metrics.Knob) []string {
	var name []string
	add := func(key, value string) { name = append(name, key+"="+benchmarkWord(value)) }
	add("servers", strconv.Itoa(run.Count(metrics.Server)))
	add("clients", strconv.Itoa(run.Count(metrics.Client)))
	if run.Symmetric {
		name = append(name, "symmetric")
	}
	unlessKnob := func(flag, value string) {
		if !slices.ContainsFunc(knobs, func(k metrics.Knob) bool { return k.Name == flag }) {
			add(flag, value)
		}
	}
	for _, flag := range []string{"tls", "dedup"} {
		if run.Workload[flag] == "true" {
			unlessKnob(flag, "true")
		}
	}
	if run.Workload.Caches() {
		unlessKnob("cache", run.Workload.Cache())
	}
	if n := run.Machines(); n < len(run.Nodes) {
		add("nodes", strconv.Itoa(n))
	}
	var named []string
	if config := run.Config(metrics.Client); config != nil {
		named = config.Classes.Main
	}
	for _, flag := range named {
		if value := run.Workload[flag]; value != "" {
			add(flag, value)
		}
	}
	if run.Store != nil {
		add("store", run.Store.Title())
	} else {
		add(metrics.EngineFlag, cmp.Or(run.Settings(metrics.Server).Engine(), "unknown"))
	}
	if model := run.Model(); model != "" && model != metrics.DefaultModel {
		unlessKnob("model", model)
	}
	for _, knob := range knobs {
		value := cmp.Or(run.Settings(metrics.Client)[knob.Name], run.Settings(metrics.Server)[knob.Name])
		if value != "" && knob.Name != metrics.EngineFlag && !slices.Contains(named, knob.Name) {
			add(knob.Name, value)
		}
	}
	return name
}

// benchmarkResult returns a valid run's line.
func benchmarkResult(name []string, run *metrics.Run) string {
	text := fmt.Sprintf("BenchmarkKVS/%s %d %.0f ops/s", strings.Join(name, "/"), run.Ops, run.OpsPerS)
	calls := run.Latency[metrics.CallLatency]
	if calls.P50 != nil {
		text += fmt.Sprintf(" %.0f p50-call-ns", *calls.P50*1e3)
	}
	if calls.P99 != nil {
		text += fmt.Sprintf(" %.0f p99-call-ns", *calls.P99*1e3)
	}
	if sent, received := run.BytesPerOp(); sent > 0 {
		text += fmt.Sprintf(" %.1f sent-bytes/op %.1f received-bytes/op", sent, received)
	}
	if run.Ceiling != nil && run.Ceiling.Headroom > 0 {
		text += fmt.Sprintf(" %.2f headroom", run.Ceiling.Headroom)
	}
	return text + "\n"
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
