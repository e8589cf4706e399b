package foldertest

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

// SweepPlan describes a sweep to make up.
type SweepPlan struct {
	ID     string
	Knobs  []metrics.Knob
	Trials int
	Law    Law                // of the nodes, 2 if they are no knob
	Factor map[string]float64 // of a knob's value; 1 if absent
	Noise  float64            // relative
	Gbps   float64            // of the links; 0 unknown
	Fails  func(number int, point []string) bool
	Done   int // trials that have ended; 0: all, below: none
	Seed   uint64
	Batch  string // 8192 if empty

	Together bool
	Variants []metrics.Variant
	Edit     func(planned metrics.PlannedTrial, run *metrics.Run) // nil for none
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
	sweep := metrics.Sweep{ID: p.ID, Started: time.Date(2026, 11, 21, 15, 30, 0, 0, time.UTC), Command: []string{"run-cluster.sh", "--sweep", "x=<1>"},
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
		if p.Edit != nil {
			p.Edit(planned, &run)
		}
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
	nodes, factor := 2, 1.0
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
	rate := p.Law.at(float64(nodes)) * factor * (1 + p.Noise*rng.NormFloat64())
	run := metrics.Run{ID: fmt.Sprintf("trial-%03d", planned.Number), Started: time.Now(), Ended: time.Now(), WindowS: 5, OpsPerS: rate, Ops: uint64(5 * rate),
		Workload: workload, Verdict: Valid, Seed: uint64(planned.Number)}
	if p.Fails != nil && p.Fails(planned.Number, planned.Point) {
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

// WriteJSON writes a value to a file in a folder that may not be there yet.
func WriteJSON(t testing.TB, name string, value any) {
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

// Sweeps has a sweep of each shape.
var Sweeps = []SweepPlan{
	{ID: "nodes", Knobs: []metrics.Knob{Knob("nodes", "2", "4", "6", "8", "12", "16")}, Trials: 10, Law: Law{4e6, 0.03, 0.0015}, Noise: 0.02, Gbps: 10, Seed: 1},
	{ID: "far", Knobs: []metrics.Knob{Knob("nodes", "2", "4", "8", "16", "32", "64")}, Trials: 3, Law: Law{1e6, 0.08, 0.0004}, Noise: 0.03, Seed: 2},
	{ID: "straight", Knobs: []metrics.Knob{Knob("nodes", "2", "4", "6", "8")}, Trials: 3, Law: Law{4.7e5, 0, 0}, Noise: 0.004, Gbps: 1, Seed: 3},
	{ID: "two-knobs", Knobs: []metrics.Knob{Knob("nodes", "2", "4", "6", "8"), Knob("batch", "256", "1024", "8192", "65536")}, Trials: 6,
		Law: Law{4e6, 0.05, 0.002}, Factor: map[string]float64{"256": 0.4, "1024": 0.7, "8192": 1, "65536": 1.05}, Noise: 0.03, Seed: 4},
	{ID: "theta", Knobs: []metrics.Knob{Knob("theta", "0", "0.5", "0.9", "0.99", "1.2")}, Trials: 6, Law: Law{4e6, 0, 0},
		Factor: map[string]float64{"0": 0.6, "0.5": 0.7, "0.9": 0.9}, Noise: 0.03, Seed: 5},
	{ID: "words", Knobs: []metrics.Knob{Knob("engine", "syncmap", "slab", "xsync-with-a-rather-long-name-indeed", "striped-and-locked", "null")}, Trials: 6, Law: Law{4e6, 0, 0},
		Factor: map[string]float64{"slab": 1.6, "null": 2.2}, Noise: 0.03, Seed: 6},
	{ID: "plain", Trials: 10, Law: Law{4e6, 0, 0}, Noise: 0.02, Fails: func(n int, _ []string) bool { return n == 4 }, Seed: 7},
	{ID: "one", Trials: 1, Law: Law{4e6, 0, 0}, Seed: 8},
	{ID: "one-point", Knobs: []metrics.Knob{Knob("nodes", "4")}, Trials: 6, Law: Law{4e6, 0, 0}, Noise: 0.05, Seed: 10},
	{ID: "failures", Knobs: []metrics.Knob{Knob("nodes", "2", "4", "6", "8", "10")}, Trials: 6, Law: Law{4e6, 0.05, 0.001}, Noise: 0.03, Seed: 11, Done: 29,
		Fails: func(n int, point []string) bool { return point[0] == "8" && n > 9 || n == 3 }},
	{ID: "all-failed", Knobs: []metrics.Knob{Knob("nodes", "2", "4")}, Trials: 2, Law: Law{4e6, 0, 0}, Seed: 12, Fails: func(int, []string) bool { return true }},
	{ID: "nothing-yet", Knobs: []metrics.Knob{Knob("nodes", "2", "4")}, Trials: 2, Law: Law{4e6, 0, 0}, Seed: 13, Done: -1},
}

// sides is the plan of a folder of --ab, in which B is faster by a factor.
func sides(trials int, factor float64) SweepPlan {
	return SweepPlan{ID: "ab", Knobs: []metrics.Knob{Knob(metrics.VariantKnob, metrics.VariantNames...)}, Trials: trials, Law: Law{4e6, 0, 0},
		Factor: map[string]float64{"B": factor}, Noise: 0.01, Seed: 4, Variants: []metrics.Variant{{}, {Args: "--client-args '-x <1>'"}}}
}

// MakeSides makes up a folder of --ab, in which B is faster by a factor.
func MakeSides(t *testing.T, trials int, factor float64, fails func(number int, point []string) bool) string {
	t.Helper()
	p := sides(trials, factor)
	p.Fails = fails
	return MakeSweep(t, t.TempDir(), p)
}

// MakeTogether makes up a folder of --ab --together, in which an operation of B costs
// the servers more by a factor; 0: no node recorded what it used.
func MakeTogether(t *testing.T, pairs int, factor float64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 0))
	p := sides(pairs, 1)
	p.Together = true
	p.Edit = func(planned metrics.PlannedTrial, run *metrics.Run) {
		run.Together = fmt.Sprintf("trial-%03d", (planned.Number-1)^1+1)
		for _, node := range run.Nodes {
			percent := 50 * (1 + 0.005*rng.NormFloat64())
			if node.Role == metrics.Server && planned.Point[0] == "B" {
				percent *= factor
			}
			if node.Summary.InWindow = (metrics.Counts{Gets: 1e6}); factor > 0 {
				node.Summary.Saturation = &metrics.Saturation{ProcessCPUPercent: percent}
			}
		}
	}
	return MakeSweep(t, t.TempDir(), p)
}
