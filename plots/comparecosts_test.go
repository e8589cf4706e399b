package plots

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
)

// makeTogether makes up a folder of --ab --together, in which an operation of B costs
// the servers more by a factor; 0: nobody said what it used.
func makeTogether(t *testing.T, pairs int, factor float64) string {
	t.Helper()
	const seed = 8
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := makeSides(t, pairs, 1, nil)
	plan, trials, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan.Together = true
	writeJSON(t, filepath.Join(dir, metrics.SweepFile), plan)
	for i, trial := range trials {
		run, err := Load(os.DirFS(filepath.Join(dir, trial.Folder)))
		if err != nil {
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
				node.Summary.Pressure = &metrics.Pressure{ProcessCPUPercent: percent}
			}
		}
		writeJSON(t, filepath.Join(dir, trial.Folder, "run.json"), run.Run)
	}
	return dir
}

func TestCompareCosts(t *testing.T) {
	for _, test := range []struct {
		pairs  int
		factor float64
		want   string // of the servers
	}{
		{5, 1.05, "B costs more, by "},
		{5, 0.9, "B costs less, by "},
		{5, 1, "cannot tell apart: the interval holds 1"},
		{2, 2, "but with 2 pairs it has no interval, which needs 3"},
		{5, 0, "cannot tell: no pair of trials says what it used"},
	} {
		t.Run(fmt.Sprint(test.pairs, " pairs, ", test.factor), func(t *testing.T) {
			dir := makeTogether(t, test.pairs, test.factor)
			c, err := CompareSides(dir)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(c.String(), "\n")
			servers, clients := lines[len(lines)-2], lines[len(lines)-1]
			if !strings.HasPrefix(servers, "processor time per operation, servers: ") || !strings.Contains(servers, test.want) {
				t.Errorf("servers: %q, want %q", servers, test.want)
			}
			if !strings.HasPrefix(clients, "processor time per operation, clients: ") || !strings.Contains(clients, "cannot tell") {
				t.Errorf("clients: %q", clients)
			}
			if ratio := c.Costs[0].Ratio; test.factor > 0 && test.pairs > 2 && (ratio.Low > test.factor || ratio.High < test.factor) {
				t.Errorf("%+v misses %v", ratio, test.factor)
			}
			if c.Known {
				t.Error("operations per second of trials at the same time were compared")
			}
		})
	}
}

// The report of such a folder says so too.
func TestCompareCostsInReport(t *testing.T) {
	dir := makeTogether(t, 5, 1.05)
	if _, err := Draw(dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "B costs more, by ") {
		t.Errorf("%v, no cost in the report of %d bytes", err, len(page))
	}
}
