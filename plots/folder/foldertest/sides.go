package foldertest

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"kvlab/metrics"
)

// MakeSides makes up a folder of --ab, in which B is faster by a factor.
func MakeSides(t *testing.T, trials int, factor float64, fails func(number int, point []string) bool) string {
	t.Helper()
	p := SweepPlan{ID: "ab", Knobs: []metrics.Knob{Knob(metrics.VariantKnob, metrics.VariantNames...)}, Trials: trials, Law: Law{4e6, 0, 0},
		Factor: map[string]float64{"B": factor}, Noise: 0.01, Seed: 4, Fails: fails}
	dir := MakeSweep(t, t.TempDir(), p)
	plan, _, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan.Variants = []metrics.Variant{{}, {Args: "--client-args '-x <1>'"}}
	WriteJSON(t, filepath.Join(dir, metrics.SweepFile), plan)
	return dir
}

// MakeTogether makes up a folder of --ab --together, in which an operation of B costs
// the servers more by a factor; 0: nobody said what it used.
func MakeTogether(t *testing.T, pairs int, factor float64) string {
	t.Helper()
	const seed = 8
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := MakeSides(t, pairs, 1, nil)
	plan, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan.Together = true
	WriteJSON(t, filepath.Join(dir, metrics.SweepFile), plan)
	for i, trial := range trials {
		var run metrics.Run
		if err := json.Unmarshal(Read(t, filepath.Join(dir, trial.Folder, "run.json")), &run); err != nil {
			t.Fatal(err)
		}
		run.Together = trials[i^1].Folder
		for n := range run.Nodes {
			node := &run.Nodes[n]
			percent := 50 * (1 + 0.005*rng.NormFloat64())
			if node.Role == metrics.Server && trial.Point[0] == "B" {
				percent *= factor
			}
			if node.Summary.InWindow = (metrics.Counts{Gets: 1e6}); factor > 0 {
				node.Summary.Saturation = &metrics.Saturation{ProcessCPUPercent: percent}
			}
		}
		WriteJSON(t, filepath.Join(dir, trial.Folder, "run.json"), run)
	}
	return dir
}
