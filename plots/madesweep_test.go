package plots

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"kvlab/metrics"
)

// sweepPlan describes a sweep to make up.
type sweepPlan struct {
	id     string
	knobs  []metrics.Knob
	trials int
	law    curve              // of the nodes, 2 if they are no knob
	factor map[string]float64 // of a knob's value; 1 if absent
	noise  float64            // relative
	gbps   float64            // of the links; 0 unknown
	fails  func(number int, point []string) bool
	done   int // trials that have ended; 0: all, below: none
	seed   uint64
	batch  string // 8192 if empty
}

// knob makes a knob of values.
func knob(name string, values ...string) metrics.Knob {
	return metrics.Knob{Name: name, Values: values}
}

// makeSweep makes up a sweep and writes its folder below root.
func makeSweep(t testing.TB, root string, p sweepPlan) string {
	t.Helper()
	t.Logf("seed %d", p.seed)
	rng := rand.New(rand.NewPCG(p.seed, 2))
	dir := filepath.Join(root, p.id)
	sweep := metrics.Sweep{ID: p.id, Started: time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC), Command: []string{"run-cluster.sh", "--sweep", "x=<1>"},
		GitCommit: "ade2e75", Seed: p.seed, Knobs: p.knobs, Trials: p.trials}
	for range p.trials {
		points := metrics.Points(p.knobs)
		for _, i := range rng.Perm(len(points)) {
			sweep.Order = append(sweep.Order, metrics.PlannedTrial{Number: len(sweep.Order) + 1, Point: points[i]})
		}
	}
	var trials []metrics.Trial
	for _, planned := range sweep.Order {
		if p.done != 0 && planned.Number > p.done {
			break
		}
		run := p.run(planned, rng)
		folder := fmt.Sprintf("trial-%03d", planned.Number)
		writeJSON(t, filepath.Join(dir, folder, "run.json"), run)
		trial := metrics.TrialOf(planned, folder, run)
		trial.LinkBitsPerS = uint64(p.gbps * 1e9)
		trials = append(trials, trial)
	}
	writeJSON(t, filepath.Join(dir, metrics.SweepFile), sweep)
	writeJSON(t, filepath.Join(dir, metrics.TrialsFile), trials)
	return dir
}

// run makes up one trial's run.
func (p sweepPlan) run(planned metrics.PlannedTrial, rng *rand.Rand) metrics.Run {
	nodes, factor := 2, 1.0
	workload := map[string]string{"workload": "YCSB-B", "theta": "0.99", "batch": cmp.Or(p.batch, "8192")}
	for i, knob := range p.knobs {
		value := planned.Point[i]
		if knob.Name == nodesKnob {
			nodes, _ = strconv.Atoi(value)
		} else {
			workload[knob.Name] = value
		}
		if f, ok := p.factor[value]; ok {
			factor *= f
		}
	}
	rate := p.law.at(float64(nodes)) * factor * (1 + p.noise*rng.NormFloat64())
	run := metrics.Run{ID: fmt.Sprintf("trial-%03d", planned.Number), Started: time.Now(), Ended: time.Now(), WindowS: 5, OpsPerS: rate, Ops: uint64(5 * rate),
		Workload: workload, Verdict: valid, Seed: uint64(planned.Number)}
	if p.fails != nil && p.fails(planned.Number, planned.Point) {
		run.Verdict = metrics.Verdict{Reason: "misses in the window", Node: "node1"}
	}
	for i := range nodes {
		node := metrics.RunNode{Name: fmt.Sprintf("node%d", i), Role: metrics.Server, Address: "10.10.1.1", Summary: &metrics.Summary{WindowLengthS: 5}}
		node.Summary.InWindow = metrics.Counts{Gets: 1e6}
		if i >= nodes/2 {
			node.Role = metrics.Client
			node.Summary.InWindow = metrics.Counts{Gets: run.Ops / uint64(nodes-nodes/2)}
			node.Summary.BytesInWindow = metrics.Bytes{Sent: 18 * run.Ops / uint64(nodes-nodes/2), Received: 122 * run.Ops / uint64(nodes-nodes/2)}
		}
		run.Nodes = append(run.Nodes, node)
	}
	return run
}

// writeJSON writes a value to a file in a folder that may not be there yet.
func writeJSON(t testing.TB, name string, value any) {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o755)
	}
	if err == nil {
		err = os.WriteFile(name, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sweeps are those of the shapes that people draw.
var sweeps = []sweepPlan{
	{id: "nodes", knobs: []metrics.Knob{knob("nodes", "2", "4", "6", "8", "12", "16")}, trials: 10, law: curve{4e6, 0.03, 0.0015}, noise: 0.02, gbps: 10, seed: 1},
	{id: "far", knobs: []metrics.Knob{knob("nodes", "2", "4", "8", "16", "32", "64")}, trials: 3, law: curve{1e6, 0.08, 0.0004}, noise: 0.03, seed: 2},
	{id: "straight", knobs: []metrics.Knob{knob("nodes", "2", "4", "6", "8")}, trials: 3, law: curve{4.7e5, 0, 0}, noise: 0.004, gbps: 1, seed: 3},
	{id: "two-knobs", knobs: []metrics.Knob{knob("nodes", "2", "4", "6", "8"), knob("batch", "256", "1024", "8192", "65536")}, trials: 6,
		law: curve{4e6, 0.05, 0.002}, factor: map[string]float64{"256": 0.4, "1024": 0.7, "8192": 1, "65536": 1.05}, noise: 0.03, seed: 4},
	{id: "theta", knobs: []metrics.Knob{knob("theta", "0", "0.5", "0.9", "0.99", "1.2")}, trials: 6, law: curve{4e6, 0, 0},
		factor: map[string]float64{"0": 0.6, "0.5": 0.7, "0.9": 0.9}, noise: 0.03, seed: 5},
	{id: "words", knobs: []metrics.Knob{knob("engine", "syncmap", "slab", "xsync-with-a-rather-long-name-indeed", "striped-and-locked", "null")}, trials: 6, law: curve{4e6, 0, 0},
		factor: map[string]float64{"slab": 1.6, "null": 2.2}, noise: 0.03, seed: 6},
	{id: "plain", trials: 10, law: curve{4e6, 0, 0}, noise: 0.02, fails: func(n int, _ []string) bool { return n == 4 }, seed: 7},
	{id: "one", trials: 1, law: curve{4e6, 0, 0}, seed: 8},
	{id: "two-points", knobs: []metrics.Knob{knob("nodes", "2", "4")}, trials: 3, law: curve{4e6, 0.1, 0}, noise: 0.05, seed: 9},
	{id: "one-point", knobs: []metrics.Knob{knob("nodes", "4")}, trials: 6, law: curve{4e6, 0, 0}, noise: 0.05, seed: 10},
	{id: "failures", knobs: []metrics.Knob{knob("nodes", "2", "4", "6", "8", "10")}, trials: 6, law: curve{4e6, 0.05, 0.001}, noise: 0.03, seed: 11, done: 29,
		fails: func(n int, point []string) bool { return point[0] == "8" && n > 9 || n == 3 }},
	{id: "all-failed", knobs: []metrics.Knob{knob("nodes", "2", "4")}, trials: 2, law: curve{4e6, 0, 0}, seed: 12, fails: func(int, []string) bool { return true }},
	{id: "nothing-yet", knobs: []metrics.Knob{knob("nodes", "2", "4")}, trials: 2, law: curve{4e6, 0, 0}, seed: 13, done: -1},
}
