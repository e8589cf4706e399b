package compare

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
	"kvlab/plots/folder/foldertest"
)

// labs is the labs' scale, as the repository ships it.
func labs(t *testing.T) Scale {
	t.Helper()
	scale, err := ReadScale("../grades.txt")
	if err != nil {
		t.Fatal(err)
	}
	return scale
}

func TestLabsScale(t *testing.T) {
	want := Scale{{0.4e6, 80}, {0.8e6, 82}, {1.6e6, 88}, {3.2e6, 92}, {6.4e6, 95}, {12.8e6, 100}}
	got := labs(t)
	if len(got) != len(want) {
		t.Fatalf("%d steps, want %d", len(got), len(want))
	}
	for i := range want {
		if math.Abs(got[i].OpsPerS-want[i].OpsPerS) > 1e-6 || got[i].Percent != want[i].Percent {
			t.Errorf("step %d is %v, want %v", i, got[i], want[i])
		}
	}
}

func TestParseScaleRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "s: no step: want operations per second and per cent, as in 0.4M 80 %",
		"# only this\n\n":       "s: no step",
		"1M 80 %\n\n0.4M\n":     `s:3: "0.4M": want operations`,
		"1M 80 % 3\n":           `s:1: "1M 80 % 3": want`,
		"1X 80 %\n":             `s:1: "1X" is no number of operations per second`,
		"0 80\n":                `s:1: "0" is no number`,
		"-1M 80\n":              `s:1: "-1M" is no number`,
		"NaN 80\n":              `s:1: "NaN" is no number`,
		"1M 101 %\n":            `s:1: "101" is no grade from 0 to 100 per cent`,
		"1M 80 %\n1000k 90 %\n": "s:2: 1e+06 ops/s do not lie above 1e+06, the step before",
		"1M 80 % # a\n2M 79%\n": "s:2: 79 % lie below 80 %, the step before",
	} {
		if _, err := parseScale("s", text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("parseScale(%.20q): %v, want %q", text, err, want)
		}
	}
	if scale, err := parseScale("s", "\t500 1.5%\n2k 3\n1G 100 %"); err != nil || scale[0] != (Step{500, 1.5}) || scale[2].OpsPerS != 1e9 {
		t.Errorf("parseScale = %v, %v", scale, err)
	}
}

func TestGradeRun(t *testing.T) {
	scale := labs(t)
	for _, test := range []struct {
		run  metrics.Run
		want string
	}{
		{metrics.Run{OpsPerS: 3.2e6, Verdict: foldertest.Valid}, `grade 92 %
  judged on 3.2M ops/s: one trial, no interval; 6 trials would have one
  reached the step of 3.2M ops/s, with 0.0 % to spare
  the next, 6.4M ops/s for 95 %, needs 2.00 times as much`},
		{metrics.Run{OpsPerS: 399_999, Verdict: foldertest.Valid}, `grade 0 %
  judged on 400k ops/s: one trial, no interval; 6 trials would have one
  no step is reached
  the next, 400k ops/s for 80 %, needs 1.00 times as much`},
		{metrics.Run{OpsPerS: 25.6e6, Verdict: foldertest.Valid, Lab: &metrics.Lab{Hosts: 8, LinkBitsPerS: 1e9}}, `grade 100 %
  judged on 25.6M ops/s: one trial, no interval; 6 trials would have one
  reached the step of 12.8M ops/s, with 100.0 % to spare
  measured in a virtual lab, 8 hosts on one machine, links 1 Gb/s: not a cluster's number`},
		{metrics.Run{OpsPerS: 99e6, Verdict: metrics.Verdict{Reason: "misses", Node: "n1"}}, "no grade: the verdict is INVALID(misses, n1)"},
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
		{name: "one of five failed", rates: []float64{7 * m, 7 * m, 7 * m, 7 * m}, failed: 1, grade: 95, want: "1 of 5 trials failed and left out"},
		{name: "two of five failed", rates: []float64{7 * m, 7 * m, 7 * m}, failed: 2, want: "no grade: 2 of 5 trials failed, and at most one in five may; the first: INVALID(x)"},
		{name: "cut short", rates: []float64{7 * m}, left: 5, want: "no grade: only 1 of 6 trials have ended"},
		{name: "several points", knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4")}, want: "no grade: 2 points, and a grade is of one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var trials []metrics.Trial
			for _, rate := range test.rates {
				trials = append(trials, metrics.Trial{OpsPerS: rate, Verdict: foldertest.Valid})
			}
			for range test.failed {
				trials = append(trials, metrics.Trial{OpsPerS: 99 * m, Verdict: metrics.Verdict{Reason: "x"}})
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
