package compare

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

// plain returns a sweep over batches, whose rates differ from another's by a factor.
func plain(t *testing.T, id string, trials int, factor, noise float64, seed uint64) string {
	return foldertest.MakeSweep(t, t.TempDir(), foldertest.SweepPlan{ID: id, Knobs: []metrics.Knob{foldertest.Knob("batch", "64", "512")}, Trials: trials,
		Law: foldertest.Law{factor * 1e6, 0, 0}, Factor: map[string]float64{"512": 3}, Noise: noise, Seed: seed})
}

func again(t *testing.T, first, second string, margin float64) metrics.Rerun {
	t.Helper()
	r, err := Again(first, second, margin)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outcomes are those of the figures, in order.
func outcomes(r metrics.Rerun) (all []metrics.AgreementClass) {
	for _, a := range r.Figures {
		all = append(all, a.Outcome)
	}
	return all
}

// Reruns that are equal but for little noise agree, those of another speed differ, and noisy
// ones cannot be told. The noise is far from the margin.
func TestAgain(t *testing.T) {
	first := plain(t, "first", 6, 1, 0.002, 1)
	for _, test := range []struct {
		name          string
		trials        int
		factor, noise float64
		want          metrics.AgreementClass
	}{
		{"equal", 6, 1, 0.002, metrics.Agrees},
		{"one trial", 1, 1, 0.002, metrics.Agrees},
		{"slower", 6, 0.7, 0.002, metrics.Differs},
		{"noisy", 3, 1, 0.2, metrics.Undecided},
	} {
		r := again(t, first, plain(t, "second", test.trials, test.factor, test.noise, 2), 0.1)
		if got := outcomes(r); !slices.Equal(got, []metrics.AgreementClass{test.want, test.want}) || r.Outcome() != test.want || r.Margin != 0.1 {
			t.Errorf("%s: %q, %+v", test.name, got, r)
		}
		if r.Figures[1].Figure != "ops/s at batch=512" || r.Figures[1].Reason == "" || r.Figures[1].Before == "" {
			t.Errorf("%s: %+v", test.name, r.Figures[1])
		}
	}
	// A point that is not in the rerun, or has no valid trial, cannot be told.
	gone := foldertest.MakeSweep(t, t.TempDir(), foldertest.SweepPlan{ID: "gone", Knobs: []metrics.Knob{foldertest.Knob("batch", "64", "8192")}, Trials: 1,
		Law: foldertest.Law{1e6, 0, 0}, Failed: []int{1, 2}, Seed: 3})
	r := again(t, first, gone, 0.1)
	if got := outcomes(r); !slices.Equal(got, []metrics.AgreementClass{metrics.Undecided, metrics.Undecided}) || r.Figures[1].Now != "no such figure" {
		t.Errorf("%+v", r)
	}
}

// Comparisons agree by their ratios, whatever the machine's speed is; a study by its outcomes;
// a curve by its peak, its knee and the rate that keeps its objective.
func TestAgainOfOtherFolders(t *testing.T) {
	ab := func(factor, speed float64, seed uint64) string {
		p := foldertest.Sides(6, factor)
		p.Law[0], p.Noise, p.Seed = p.Law[0]*speed, 0.002, seed
		return foldertest.MakeSweep(t, t.TempDir(), p)
	}
	if r := again(t, ab(1.2, 1, 1), ab(1.2, 3, 2), 0.1); r.Outcome() != metrics.Agrees || r.Figures[0].Figure != "B/A" {
		t.Errorf("an equal ratio: %+v", r)
	}
	if r := again(t, ab(1.2, 1, 1), ab(0.9, 1, 2), 0.1); r.Outcome() != metrics.Differs {
		t.Errorf("another ratio: %+v", r)
	}

	study := foldertest.MakeStudy(t, t.TempDir())
	if r := again(t, study, study, 0.1); r.Outcome() != metrics.Agrees || len(r.Figures) != 8 {
		t.Errorf("a study and itself: %+v", r)
	}
	other := foldertest.MakeStudy(t, t.TempDir())
	var claims []metrics.ClaimResult
	if err := metrics.ReadJSON(filepath.Join(other, metrics.ClaimsFile), &claims); err != nil {
		t.Fatal(err)
	}
	claims[0].Outcome, claims[1].Outcome = metrics.Contradicted, metrics.CannotTell // they were reproduced and contradicted
	foldertest.WriteJSON(t, filepath.Join(other, metrics.ClaimsFile), claims)
	if r := again(t, study, other, 0.1); r.Figures[0].Outcome != metrics.Differs || r.Figures[1].Outcome != metrics.Undecided || r.Figures[2].Outcome != metrics.Agrees {
		t.Errorf("%+v", r.Figures)
	}

	curve := func(mu float64) string {
		return foldertest.MakeCurve(t, t.TempDir(), "c", mu, "p99=1ms", map[string]string{"batch": "8"})
	}
	r := again(t, curve(100_000), curve(100_000), 0.5)
	if len(r.Figures) != 3 || !strings.HasPrefix(r.Figures[2].Figure, "highest ops/s with p99=1ms") || r.Figures[1].Outcome != metrics.Agrees {
		t.Errorf("a curve and itself: %+v", r.Figures)
	}
	if r := again(t, curve(100_000), curve(200_000), 0.1); r.Figures[1].Outcome != metrics.Differs {
		t.Errorf("a curve twice as fast: %+v", r.Figures)
	}
}

// A quick run is not compared with a full one.
func TestAgainOfQuickRuns(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	run := metrics.Run{Result: metrics.Result{Schema: metrics.Schema, OpsPerS: 1, WindowS: 1, Verdict: foldertest.Valid}, ID: "a"}
	foldertest.WriteJSON(t, filepath.Join(first, "run.json"), run)
	run.Quick = true
	foldertest.WriteJSON(t, filepath.Join(second, "run.json"), run)
	if r := again(t, first, second, 0.1); !strings.Contains(r.Note, "never ranked against a full one") || len(r.Figures) > 0 {
		t.Errorf("%+v", r)
	}
}

// What two runs differ in is listed by how much it tells: configuration, machines, settings,
// programs. What one of them has not recorded says nothing.
func TestUnlike(t *testing.T) {
	dirs := [2]string{t.TempDir(), t.TempDir()}
	for i, dir := range dirs {
		pick := func(a, b string) string { return []string{a, b}[i] }
		config := &metrics.Config{Binary: pick("aaaa", "bbbb"), Host: metrics.Host{CPUModel: pick("Xeon", "Epyc"), GoVersion: "go1.26"}, Flags: map[string]string{"model": "conn"}}
		facts := &metrics.Facts{Data: metrics.Link{BitsPerS: 1e9}, Traits: map[string]string{"smt": pick("on", "off"), "clocksource": "tsc", pick("ksm", "swap"): "1"},
			Settings: []metrics.HostSetting{{Name: pick("rings eth0", "rings eno1"), Value: pick("512", "4096")}}}
		foldertest.WriteJSON(t, filepath.Join(dir, "run.json"), metrics.Run{Result: metrics.Result{Schema: metrics.Schema, OpsPerS: pickRate(i), WindowS: 1, Verdict: foldertest.Valid}, ID: "r", GitCommit: pick("c0", "c1"),
			Workload: metrics.Settings{"batch": pick("1", "2")}, Preflight: &metrics.Preflight{Machines: []metrics.Machine{{Nodes: []string{"a"}, Facts: facts}}},
			Nodes: []metrics.RunNode{{Name: "a", Role: metrics.Server, Config: config}}})
	}
	got := again(t, dirs[0], dirs[1], 0.1).Differ
	want := []string{"batch: 1 and 2", "machines: Xeon", "rings: 512 and 4096", "smt: on and off", "git commit: c0 and c1", "servers' program: aaaa and bbbb"}
	at := -1
	for _, prefix := range want {
		i := slices.IndexFunc(got, func(line string) bool { return strings.HasPrefix(line, prefix) })
		if i <= at {
			t.Errorf("%q is at %d, after %d: %q", prefix, i, at, got)
		}
		at = i
	}
	if len(got) != len(want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func pickRate(i int) float64 { return []float64{1e6, 3e6}[i] }
