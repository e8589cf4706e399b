package foldertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/manifest"
)

// SweepPlan describes a sweep to make up.
type SweepPlan struct {
	ID     string
	Knobs  []metrics.Knob
	Trials int
	Law    Law                // of the nodes, 2 if they are no knob
	Factor map[string]float64 // of a knob's value; 1 if absent
	Noise  float64            // relative
	Gbps   float64            // of the links; 0 unknown
	Failed []int              // the numbers of the trials that are not valid, besides those of no operation
	Done   int                // trials that have ended; 0: all, below: none
	Seed   uint64
	Batch  string // 8192 if empty

	Variants []metrics.Variant
	Together bool // Factor is of what an operation costs the servers; 0: no node recorded it
}

// Law is the throughput of n nodes by the Universal Scalability Law: its gamma,
// alpha and beta.
type Law [3]float64

func (l Law) at(n float64) float64 { return l[0] * n / (1 + l[1]*(n-1) + l[2]*n*(n-1)) }

// Knob makes a knob of values.
func Knob(name string, values ...string) metrics.Knob {
	return metrics.Knob{Name: name, Values: values}
}

// MakeSweep makes up a sweep and writes its folder below root.
func MakeSweep(t testing.TB, root string, p SweepPlan) string {
	t.Helper()
	t.Logf("seed %d", p.Seed)
	rng := rand.New(rand.NewPCG(p.Seed, 2))
	dir := filepath.Join(root, p.ID)
	sweep := metrics.Sweep{Schema: metrics.Schema, ID: p.ID, Started: time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC), Command: []string{"run-cluster.sh", "--sweep", "x=<1>"},
		GitCommit: "ade2e75", Seed: p.Seed, Knobs: p.Knobs, Trials: p.Trials, Together: p.Together, Variants: p.Variants}
	for range p.Trials {
		points := metrics.Points(p.Knobs)
		for _, i := range rng.Perm(len(points)) {
			sweep.Order = append(sweep.Order, metrics.PlannedTrial{Number: len(sweep.Order) + 1, Point: points[i]})
		}
	}
	var trials []metrics.Trial
	for _, planned := range sweep.Order {
		if p.Done != 0 && planned.Number > p.Done {
			break
		}
		run := p.run(planned, rng)
		WriteJSON(t, filepath.Join(dir, run.ID, "run.json"), run)
		trial := metrics.TrialOf(planned, run.ID, run)
		trial.LinkBitsPerS = uint64(p.Gbps * 1e9)
		trials = append(trials, trial)
	}
	WriteJSON(t, filepath.Join(dir, metrics.SweepFile), sweep)
	WriteJSON(t, filepath.Join(dir, metrics.TrialsFile), trials)
	return dir
}

// run makes up one trial's run.
func (p SweepPlan) run(planned metrics.PlannedTrial, rng *rand.Rand) metrics.Run {
	nodes, factor, cost := 2, 1.0, 1.0
	workload := map[string]string{"workload": "YCSB-B", "theta": "0.99", "batch": cmp.Or(p.Batch, "8192")}
	for i, knob := range p.Knobs {
		value := planned.Point[i]
		if knob.Name == "nodes" {
			nodes, _ = strconv.Atoi(value)
		} else {
			workload[knob.Name] = value
		}
		if f, ok := p.Factor[value]; ok {
			factor *= f
		}
	}
	run := metrics.Run{Result: metrics.Result{Schema: metrics.Schema, Started: time.Now(), Ended: time.Now(), WindowS: 5, Verdict: Valid}, ID: fmt.Sprintf("trial-%03d", planned.Number), Workload: workload, Seed: uint64(planned.Number)}
	if p.Together {
		run.Together, factor, cost = fmt.Sprintf("trial-%03d", (planned.Number-1)^1+1), 1, factor
	}
	run.OpsPerS = p.Law.at(float64(nodes)) * factor * (1 + p.Noise*rng.NormFloat64())
	run.Ops = uint64(5 * run.OpsPerS)
	if run.Ops == 0 || slices.Contains(p.Failed, planned.Number) {
		run.Verdict = metrics.Verdict{Check: "misses", Reason: "misses in the window", Node: "node1"}
	}
	for i := range nodes {
		ops := run.Ops / uint64(nodes-nodes/2)
		summary := &metrics.Summary{WindowLengthS: 5, InWindow: metrics.Counts{Gets: ops}, BytesInWindow: metrics.Bytes{Sent: 18 * ops, Received: 122 * ops}}
		node := metrics.RunNode{Name: fmt.Sprintf("node%d", i), Role: metrics.Client, Address: "10.10.1.1", Summary: summary}
		percent := 50.0
		if i < nodes/2 {
			node.Role, percent = metrics.Server, percent*cost
			summary.InWindow, summary.BytesInWindow = metrics.Counts{Gets: 1e6}, metrics.Bytes{}
		}
		if p.Together && p.Factor["B"] > 0 {
			summary.InWindow = metrics.Counts{Gets: 1e6}
			summary.Saturation = &metrics.Saturation{ProcessCPUPercent: percent * (1 + 0.005*rng.NormFloat64())}
		}
		run.Nodes = append(run.Nodes, node)
	}
	return run
}

// WriteManifest writes the manifest of a folder, as the launcher does at its end.
func WriteManifest(t testing.TB, dir string) {
	t.Helper()
	m, err := manifest.Of(dir)
	if err != nil {
		t.Fatal(err)
	}
	WriteJSON(t, filepath.Join(dir, metrics.ManifestFile), m)
}

// WriteJSON writes a value to a file in a folder that may not be there yet.
func WriteJSON(t testing.TB, name string, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err := errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, text, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Sweeps has a sweep of each shape.
var Sweeps = fixture[[]SweepPlan]("sweeps.json")

// Sides returns the plan of a folder of --ab, in which B is faster by a factor.
func Sides(trials int, factor float64, failed ...int) SweepPlan {
	return SweepPlan{ID: "ab", Knobs: []metrics.Knob{Knob(metrics.VariantKnob, metrics.VariantNames...)}, Trials: trials, Law: Law{4e6, 0, 0},
		Factor: map[string]float64{"B": factor}, Noise: 0.01, Seed: 4, Failed: failed, Variants: []metrics.Variant{{}, {Args: "--client-args '-x <1>'"}}}
}

// Together returns the plan of a folder of --ab --together, in which an operation of B
// costs the servers more by a factor; 0: no node recorded what it used.
func Together(pairs int, factor float64) SweepPlan {
	p := Sides(pairs, factor)
	p.Together = true
	return p
}
