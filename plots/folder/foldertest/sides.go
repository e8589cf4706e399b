package foldertest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"kvlab/metrics"
)

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
