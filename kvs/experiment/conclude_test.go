package experiment

import (
	"strings"
	"testing"

	"kvlab/metrics"
)

// What a point's median does not show stands beside it.
func TestNotes(t *testing.T) {
	s := Sweep{Plan: metrics.Sweep{Knobs: []metrics.Knob{{Name: "nodes", Values: []string{"2"}}}, Until: 0.02}}
	trial := func(number int, ops float64, stationary bool) metrics.Trial {
		return metrics.Trial{
			PlannedTrial: metrics.PlannedTrial{Number: number, Point: []string{"2"}}, Result: metrics.Result{OpsPerS: ops, Verdict: metrics.Verdict{Valid: true}}, NonStationary: !stationary,
		}
	}
	failed := trial(4, 1, false)
	failed.Verdict = metrics.Verdict{Reason: "died", Node: "node1"}
	points := metrics.Summarize(s.Plan, []metrics.Trial{trial(1, 100, true), trial(2, 110, false), trial(3, 105, false), failed})
	want := "--until 2% at nodes=2: not met after 4 trials\n" +
		"NON-STATIONARY at nodes=2: 2 of the 3 valid trials\n" +
		"no result at nodes=2: 1 of 4 trials failed\n" +
		"failed at nodes=2: trial 4, INVALID(died, node1)\n"
	if got := s.notes(points); got != want {
		t.Errorf("notes:\n%s\nwant:\n%s", got, want)
	}
}

// A benchmark's name has the servers' model, unless it is the default one or a knob.
func TestBenchmarkHasModel(t *testing.T) {
	for model, want := range map[string]string{"": "", "conn": "", "pool:4": "/model=pool:4"} {
		run := metrics.Run{Nodes: []metrics.RunNode{{Role: metrics.Server, Config: &metrics.Config{Flags: map[string]string{"engine": "slab", "model": model}}}}}
		if got := strings.Join(benchmarkName(&run, nil), "/"); got != "servers=1/clients=0/engine=slab"+want {
			t.Errorf("-model %q: %s", model, got)
		}
	}
}

// What two variants have in common is the benchmark's name.
func TestBenchmarksOfVariants(t *testing.T) {
	trial := func(variant, batch string) metrics.Trial {
		run := metrics.Run{Result: metrics.Result{Ops: 7, OpsPerS: 7, Verdict: metrics.Verdict{Valid: true}}, Workload: map[string]string{"batch": batch, "theta": "0.99"},
			Nodes: []metrics.RunNode{{Role: metrics.Client, Config: &metrics.Config{Classes: metrics.FlagClasses{Main: []string{"theta", "batch"}}}}}}
		return metrics.TrialOf(metrics.PlannedTrial{Point: []string{variant}}, "", run)
	}
	s := Sweep{Plan: metrics.Sweep{ID: "x", GitCommit: "abc", Variants: make([]metrics.Variant, 2), Knobs: []metrics.Knob{{Name: metrics.VariantKnob, Values: metrics.VariantNames}}}}
	text := s.benchmarks([]metrics.Trial{trial("B", "2"), trial("A", "1"), trial("B", "2")})
	const line = "BenchmarkKVS/servers=0/clients=1/theta=0.99/engine=unknown 7 7 ops/s\n"
	if want := "# run x\n# commit abc\n\nside: A\n" + line + "side: B\n" + line + line; !strings.HasSuffix(text, want) {
		t.Errorf("lines\n%s\nwant\n%s", text, want)
	}
}
