package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

// stored makes up folders of trials in one folder of runs: a baseline named main, and a
// result that is faster by a factor.
func stored(t *testing.T, trials int, factor float64, batch string) (logs, now string) {
	t.Helper()
	logs = t.TempDir()
	plan := foldertest.SweepPlan{ID: "20261121-153000-main", Trials: trials, Law: foldertest.Law{4e6, 0, 0}, Noise: 0.01, Seed: 1}
	foldertest.MakeSweep(t, logs, plan)
	plan.ID, plan.Seed, plan.Law[0], plan.Batch = "20261121-160000-change", 2, 4e6*factor, batch
	return logs, foldertest.MakeSweep(t, logs, plan)
}

func limits(t *testing.T, texts ...string) (all []Limit) {
	t.Helper()
	for _, text := range texts {
		l, err := ParseLimit(text)
		if err != nil || l.String() != text {
			t.Fatalf("%s is read as %s, %v", text, l, err)
		}
		all = append(all, l)
	}
	return all
}

func TestBaseline(t *testing.T) {
	for _, test := range []struct {
		name   string
		trials int
		factor float64
		limit  string
		want   []string
		kept   bool
	}{
		{"same", 10, 1, "slower=5%", []string{"PASS slower=5%: ", " x the ops/s of main ["}, true},
		{"faster", 10, 1.3, "slower=5%", []string{"PASS slower=5%: 1.3"}, true},
		{"slower", 10, 0.8, "slower=5%", []string{"FAIL slower=5%: 0.8"}, false},
		{"a little slower", 10, 0.97, "slower=5%", []string{"PASS slower=5%: 0.9"}, true},
		{"close", 6, 0.95, "slower=5%", []string{"UNDECIDED slower=5%: 0.9", " trials of each would decide"}, false},
		{"few", 2, 0.5, "slower=5%", []string{"UNDECIDED slower=5%: 0.5", ", from 2 and 2 trials; 3 of each have an interval: --trials 3"}, false},
		{"without a latency", 6, 1, "p99=10%", []string{"UNDECIDED p99=10%: a trial does not say its p99"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			logs, now := stored(t, test.trials, test.factor, "")
			b, err := FindBaseline(logs, "main", "")
			if err != nil {
				t.Fatal(err)
			}
			lines, kept, err := b.Check(now, limits(t, test.limit))
			if err != nil || len(lines) != 1 || kept != test.kept {
				t.Fatalf("%q, %v, %v", lines, kept, err)
			}
			for _, want := range test.want {
				if !strings.Contains(lines[0], want) {
					t.Errorf("%q, want %q", lines[0], want)
				}
			}
		})
	}
}

// Latency and processor time of an operation are worse when they are higher.
func TestLimitsOfCosts(t *testing.T) {
	logs := t.TempDir()
	for name, factor := range map[string]float64{"20261121-153000-main": 1, "20261121-160000": 1.2} {
		dir := foldertest.MakeSweep(t, logs, foldertest.SweepPlan{ID: name, Trials: 6, Law: foldertest.Law{4e6, 0, 0}, Seed: 1})
		_, trials, err := metrics.ReadSweep(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, trial := range trials {
			file := filepath.Join(dir, trial.Folder, "run.json")
			var run metrics.Run
			if err := metrics.ReadJSON(file, &run); err != nil {
				t.Fatal(err)
			}
			run.Latency = map[string]metrics.Quantiles{metrics.CallLatency: {P99: new(factor * (1000 + float64(i)))}}
			for j := range run.Nodes {
				run.Nodes[j].Summary.Saturation = &metrics.Saturation{ProcessCPUPercent: factor * (50 + float64(i)/10)}
				run.Nodes[j].Summary.InWindow = metrics.Counts{Gets: 1e6}
			}
			foldertest.WriteJSON(t, file, run)
		}
	}
	b, err := FindBaseline(logs, "main", "")
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[string]string{"p99=10%": "FAIL p99=10%: 1.2", "p99=30%": "PASS p99=30%: 1.2", "cpu=5%": "FAIL cpu=5%: 1.2", "cpu=25%": "PASS cpu=25%: 1.2"} {
		lines, _, err := b.Check(filepath.Join(logs, "20261121-160000"), limits(t, limit))
		if err != nil || !strings.HasPrefix(lines[0], want) {
			t.Errorf("%s: %q, %v; want %q", limit, lines, err, want)
		}
	}
}

// What has measured something else is refused, with the first difference.
func TestBaselineRefuses(t *testing.T) {
	logs, now := stored(t, 6, 1, "64")
	b, err := FindBaseline(logs, "20261121-153000-main", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, kept, err := b.Check(now, limits(t, "slower=5%")); kept || err == nil || err.Error() != "20261121-153000-main differs in batch: 8192 and 64" {
		t.Errorf("%v, %v", kept, err)
	}
	foldertest.MakeSweep(t, logs, foldertest.SweepPlan{ID: "20261122-100000-bad", Trials: 2, Law: foldertest.Law{4e6, 0, 0}, Seed: 1, Failed: []int{1, 2}})
	for name, want := range map[string]string{
		"mian":   "no run in " + logs + " is named mian, by --name or by its folder; did you mean main?",
		"bad":    "no run named bad has a result: 20261122-100000-bad: 20261122-100000-bad/trial-001 is INVALID",
		"latest": "is named latest",
		"..":     "is named ..",
	} {
		if _, err := FindBaseline(logs, name, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := FindBaseline(filepath.Join(logs, "none"), "main", ""); err == nil {
		t.Error("no error without a folder of runs")
	}
}

// The newest of a name counts: one that failed is left out, and so is the run itself.
func TestNewestBaseline(t *testing.T) {
	logs, _ := stored(t, 3, 1, "")
	plan := foldertest.SweepPlan{ID: "20261122-100000-main", Trials: 3, Law: foldertest.Law{4e6, 0, 0}, Seed: 1}
	foldertest.MakeSweep(t, logs, plan)
	plan.ID, plan.Failed = "20261123-100000-main", []int{1, 2, 3}
	foldertest.MakeSweep(t, logs, plan)
	if err := os.MkdirAll(filepath.Join(logs, "20261124-100000-main"), 0o755); err != nil {
		t.Fatal(err)
	}
	for except, want := range map[string]string{"": "20261122-100000-main", "20261122-100000-main": "20261121-153000-main"} {
		if b, err := FindBaseline(logs, "main", except); err != nil || b.Name != want {
			t.Errorf("without %q: %+v, %v; want %s", except, b, err, want)
		}
	}
}

// A line says when another time or machine may be the difference.
func TestDoubt(t *testing.T) {
	logs, now := stored(t, 3, 1, "")
	b, err := FindBaseline(logs, "main", "")
	if err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		lines, _, err := b.Check(now, limits(t, "slower=50%"))
		if err != nil || !strings.HasSuffix(lines[0], want) {
			t.Errorf("%q, %v; want %q at its end", lines, err, want)
		}
	}
	check("]")
	b.runs[0].Started, b.runs[0].GitCommit = time.Now().Add(-75*time.Hour), "0123456789abcdef-dirty"
	check(`; main is 3 days old: to measure both today, --ab commit:0123456789ab ""`)
	b.settings[machinesSetting] = "another"
	check(`; main is 3 days old and of other machines: to measure both today, --ab commit:0123456789ab ""`)
}
