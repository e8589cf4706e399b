package compare

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// labs returns the labs' scale, of any work.
func labs(t *testing.T) *Scale {
	t.Helper()
	shipped, err := ReadScale("../grades.toml")
	if err != nil {
		t.Fatal(err)
	}
	return &Scale{File: shipped.File, Score: shipped.Score}
}

// The file that the repository ships has the labs' steps and work.
func TestShippedScale(t *testing.T) {
	scale, err := ReadScale("../grades.toml")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(scale.Score.Steps), "[400k 80 % 800k 82 % 1.6M 88 % 3.2M 92 % 6.4M 95 % 12.8M 100 %]"; got != want {
		t.Errorf("the steps are %s, want %s", got, want)
	}
	want := "-workload=YCSB-B -distribution=zipfian -theta=0.99 -records=1000000 -value-size=128 -secs=10"
	if got := strings.Join(scale.Work.Args(), " "); got != want {
		t.Errorf("it asks for %s, want %s", got, want)
	}
}

// scaleOf reads a scale's file of that name and text.
func scaleOf(t *testing.T, name, text string) (*Scale, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return ReadScale(name)
}

func TestSteps(t *testing.T) {
	for text, want := range map[string]Step{
		"0.4M 80 %": {400e3, false, 80}, "\t500 1.5%": {500, false, 1.5}, "1G 100 %": {1e9, false, 100}, "2k 0 %": {2000, false, 0}, "0x 0 %": {0, true, 0}, "0.5x 60%": {0.5, true, 60},
	} {
		var got Step
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0.4M", "1M 80", "1M 80 % 3", "1X 80 %", "0 80 %", "-1M 80 %", "NaN 80 %", "NaNx 80 %", "-1x 80 %", "+Infx 80 %", "1M 101 %", "1M -1 %", "1M NaN %", "much 90 %"} {
		err := new(Step).UnmarshalText([]byte(text))
		if want := fmt.Sprintf("%q: %s", text, stepForm); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestGradeRun(t *testing.T) {
	scale := labs(t)
	for _, test := range []struct {
		run  metrics.Run
		want string
	}{
		{metrics.Run{Result: metrics.Result{OpsPerS: 3.2e6, Verdict: foldertest.Valid}}, `grade 92 %
  judged on 3.2M ops/s: one trial, no interval; 6 trials would have one
  reached the step of 3.2M ops/s, with 0.0 % to spare
  the next, 6.4M ops/s for 95 %, needs 2.00 times as much`},
		{metrics.Run{Result: metrics.Result{OpsPerS: 399_999, Verdict: foldertest.Valid}}, `grade 0 %
  judged on 400k ops/s: one trial, no interval; 6 trials would have one
  no step is reached
  the next, 400k ops/s for 80 %, needs 1.00 times as much`},
		{metrics.Run{Result: metrics.Result{OpsPerS: 25.6e6, Verdict: foldertest.Valid}, Lab: &metrics.Lab{Hosts: 8, LinkBitsPerS: 1e9}}, `grade 100 %
  judged on 25.6M ops/s: one trial, no interval; 6 trials would have one
  reached the step of 12.8M ops/s, with 100.0 % to spare
  measured in a virtual lab, 8 hosts on one machine, links 1 Gb/s: not a cluster's number`},
		{metrics.Run{Result: metrics.Result{OpsPerS: 3.2e6, Verdict: foldertest.Valid}, WarmUp: &stats.Stationarity{}}, `grade 92 %
  judged on 3.2M ops/s: one trial, no interval; 6 trials would have one
  reached the step of 3.2M ops/s, with 0.0 % to spare
  the next, 6.4M ops/s for 95 %, needs 2.00 times as much`},
		{metrics.Run{Result: metrics.Result{OpsPerS: 99e6, Verdict: foldertest.Valid, Quick: true}}, "no grade: the result has a caveat that ../grades.toml does not allow, QUICK: the run was a short look, with few records"},
		{metrics.Run{Result: metrics.Result{OpsPerS: 99e6, Verdict: metrics.Verdict{Reason: "misses", Node: "n1"}}}, "no grade: the verdict is INVALID(misses, n1)"},
	} {
		if got := scale.GradeRun(test.run).String(); got != test.want {
			t.Errorf("grade is\n%s\nwant\n%s", got, test.want)
		}
	}
}

func TestGradeTrials(t *testing.T) {
	scale := labs(t)
	const m = 1e6
	for _, test := range []struct {
		name   string
		rates  []float64
		failed int
		left   int
		knobs  []metrics.Knob
		grade  float64
		want   string
	}{
		{name: "interval", rates: []float64{7 * m, 7 * m, 7 * m, 7 * m, 7 * m, 6.3 * m}, grade: 92, want: "judged on 6.3M ops/s: the lower end of the 96.9 % interval of 6 trials, whose median is 7M"},
		{name: "ten", rates: []float64{1 * m, 7 * m, 7 * m, 7 * m, 7 * m, 7 * m, 7 * m, 7 * m, 7 * m, 6.5 * m}, grade: 95, want: "judged on 6.5M ops/s: the lower end of the 97.9 %"},
		{name: "three", rates: []float64{7 * m, 3 * m, 8 * m}, grade: 88, want: "judged on 3M ops/s: the lowest of 3 trials, which lies below their true median with 87.5 %; a 95 % interval needs 6"},
		{name: "one of five failed", rates: []float64{7 * m, 7 * m, 7 * m, 7 * m}, failed: 1, want: "no grade: 1 of 5 trials failed, the first: INVALID(x)"},
		{name: "cut short", rates: []float64{7 * m}, left: 5, want: "no grade: only 1 of 6 trials have ended"},
		{name: "several points", knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4")}, want: "no grade: 2 points, and a grade is of one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var trials []metrics.Trial
			for _, rate := range test.rates {
				trials = append(trials, metrics.Trial{Result: metrics.Result{OpsPerS: rate, Verdict: foldertest.Valid}})
			}
			for range test.failed {
				trials = append(trials, metrics.Trial{Result: metrics.Result{OpsPerS: 99 * m, Verdict: metrics.Verdict{Reason: "x"}}})
			}
			plan := metrics.Sweep{Knobs: test.knobs, Order: make([]metrics.PlannedTrial, len(trials)+test.left)}
			got := scale.GradeTrials(plan, trials)
			if got.Percent != test.grade || got.Given != (test.grade > 0) || !strings.Contains(got.String(), test.want) {
				t.Errorf("grade is\n%s\nwant %v with %q", got, test.grade, test.want)
			}
		})
	}
}

func TestGradeFolder(t *testing.T) {
	scale := labs(t)
	root := t.TempDir()
	dir := foldertest.MakeSweep(t, root, foldertest.SweepPlan{ID: "s", Trials: 6, Law: foldertest.Law{4e6, 0, 0}, Noise: 0.01, Seed: 1})
	if got, err := scale.GradeFolder(dir); err != nil || got.Percent != 95 {
		t.Errorf("six trials of 8M ops/s have grade %v, %v", got, err)
	}
	if got, err := scale.GradeFolder(filepath.Join(dir, "trial-001")); err != nil || got.Percent != 95 || !strings.Contains(got.String(), "one trial") {
		t.Errorf("one of them has grade %v, %v", got, err)
	}
	if got, err := scale.GradeFolder(root); err == nil || !strings.Contains(err.Error(), "not a run folder") {
		t.Errorf("a folder of something else has grade %v, %v", got, err)
	}
}

// text returns a scale's file, with what replaces its parts.
func text(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(`[score]
steps = [
  "1M 50 %",
  "4M 100 %",
]

[work]
workload = "YCSB-B"
distribution = "zipfian"
theta = 0.99
records = 1_000
value_size = 128
least_secs = 5
allow = []
`)
}

func TestReadScaleRefuses(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", `c.toml: want steps, as in steps = ["0.4M 80 %", "0.8M 82 %"]`},
		{"scale = [\"1M 50 %\"]\n", "c.toml:1: unknown key scale"},
		{"allow = []\n" + text(), "c.toml:1: unknown key allow; did you mean work.allow?"},
		{text("workload", "wrokload"), "c.toml:8: unknown key work.wrokload"},
		{text("1_000", `"many"`), "c.toml:11: "},
		{text("1_000", "-5"), "c.toml:11: "},
		{text("records = 1_000\n", ""), "c.toml:7: the table work needs workload, records, value_size and least_secs, above 0"},
		{text("least_secs = 5", "least_secs = nan"), "c.toml:7: the table work needs"},
		{"[score]\nsteps = [\"1M 50 %\"]\n[work]\nallow = [\"QUICK\"]\n", "c.toml:3: the table work needs"},
		{text("4M 100", "much 100"), `c.toml:4: score.steps: "much 100 %": want operations per second, or a ratio`},
		{text("4M 100", "1000k 100"), "c.toml:1: 1M 100 % is not above the step before it, 1M 50 %"},
		{text("4M 100", "4M 40"), "c.toml:1: 4M 40 % is not above the step before it, 1M 50 %"},
		{text("4M 100", "4x 100"), `c.toml:1: 4x 100 %: want steps of one kind, as in steps = ["0.4M 80 %", "0.8M 82 %"]`},
		{text(`"1M 50 %",`, "", `"4M 100 %",`, ""), "c.toml:1: want steps"},
		{text("allow = []", "allow = ["), "c.toml:14: "},
		{text("allow = []", "allow = 7"), "c.toml:14: "},
		{text("[work]", "[work"), "c.toml:7: "},
	} {
		_, err := scaleOf(t, "c.toml", test.text)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n%v, want one line with %q", test.text, err, test.want)
		}
	}
	want := "grades.txt: want a TOML file with the tables work and score, such as plots/grades.toml"
	if _, err := scaleOf(t, "grades.txt", "0.4M 80 %\n"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A scale grades its work alone, and no result with a caveat that it does not allow.
func TestScaleRefusesResults(t *testing.T) {
	done := metrics.Settings{"workload": "YCSB-B", "distribution": "", "theta": "0.99", "records": "1000", "value-size": "128", "secs": "5", "batch": "64"}
	with := func(flag, value string) metrics.Settings {
		other := maps.Clone(done)
		other[flag] = value
		return other
	}
	unsteady := &stats.Stationarity{}
	for _, test := range []struct {
		name string
		text string
		run  metrics.Run
		want string
	}{
		{"the work", text(), metrics.Run{Workload: done}, "grade 50 %"},
		{"longer", text(), metrics.Run{Workload: with("secs", "1m0s")}, "grade 50 %"},
		{"any theta", text("theta = 0.99\n", ""), metrics.Run{Workload: with("theta", "0.5")}, "grade 50 %"},
		{"another theta", text(), metrics.Run{Workload: with("theta", "0.5")}, `no grade: not the work of c.toml: -theta is "0.5", want 0.99`},
		{"fewer records", text(), metrics.Run{Workload: with("records", "100")}, `no grade: not the work of c.toml: -records is "100", want 1000`},
		{"sequential", text(), metrics.Run{Workload: with("distribution", "sequential")}, `no grade: not the work of c.toml: -distribution is "sequential"`},
		{"short", text(), metrics.Run{Workload: with("secs", "4.9")}, `no grade: not the work of c.toml: -secs is "4.9", want at least 5`},
		{"unknown", text(), metrics.Run{}, `no grade: not the work of c.toml: -workload is "", want YCSB-B`},
		{"unsteady", text(), metrics.Run{Workload: done, WarmUp: unsteady}, "no grade: the result has a caveat that c.toml does not allow, NON-STATIONARY: the rate drifted by "},
		{"unsteady and allowed", text("allow = []", `allow = ["NON-STATIONARY"]`), metrics.Run{Workload: done, WarmUp: unsteady}, "grade 50 %"},
		{"quick", text("allow = []", `allow = ["NON-STATIONARY"]`), metrics.Run{Workload: done, Result: metrics.Result{Quick: true}}, "no grade: the result has a caveat that c.toml does not allow, QUICK: "},
	} {
		scale, err := scaleOf(t, "c.toml", test.text)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		test.run.OpsPerS, test.run.Verdict = 2e6, foldertest.Valid
		if got := scale.GradeRun(test.run).String(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
		sweep := metrics.Sweep{Order: make([]metrics.PlannedTrial, 1)}
		trials := []metrics.Trial{metrics.TrialOf(metrics.PlannedTrial{Number: 1}, "trial-001", test.run)}
		if got, want := scale.GradeTrials(sweep, trials).String(), strings.Replace(test.want, "no grade: ", "no grade: trial 1: ", 1); !strings.HasPrefix(got, want) {
			t.Errorf("%s, as trials: %s, want %s", test.name, got, want)
		}
	}
}
