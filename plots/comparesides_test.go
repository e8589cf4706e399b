package plots

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
)

// makeSides makes up a folder of --ab, in which B is faster by a factor.
func makeSides(t *testing.T, trials int, factor float64, fails func(number int, point []string) bool) string {
	t.Helper()
	p := sweepPlan{id: "ab", knobs: []metrics.Knob{knob(metrics.SideKnob, metrics.SideNames...)}, trials: trials, law: curve{4e6, 0, 0},
		factor: map[string]float64{"B": factor}, noise: 0.01, seed: 4, fails: fails}
	dir := makeSweep(t, t.TempDir(), p)
	plan, _, err := metrics.ReadSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan.Sides = []metrics.Side{{}, {Args: "--client-args '-x <1>'"}}
	writeJSON(t, filepath.Join(dir, metrics.SweepFile), plan)
	return dir
}

func TestCompareSides(t *testing.T) {
	second := func(number int, _ []string) bool { return number == 2 }
	for _, test := range []struct {
		name   string
		trials int
		factor float64
		fails  func(int, []string) bool
		pairs  int
		want   []string
	}{
		{"faster", 8, 1.1, nil, 8, []string{"A  nothing of its own: ops/s ", "B  --client-args '-x <1>': ops/s ", "B is faster, by ", "(the mean of 8 pairs)", "they differ in side: A and B"}},
		{"slower", 8, 0.9, nil, 8, []string{"B is slower, by "}},
		{"alike", 8, 1, nil, 8, []string{"cannot tell apart: the interval holds 1"}},
		{"few", 2, 2, nil, 2, []string{"cannot tell apart: B/A is ", "but with 2 pairs it has no interval, which needs 3"}},
		{"a failed one", 7, 1.1, second, 6, []string{"B is faster, by ", "not valid, left out: ab/trial-002: INVALID(misses in the window, node1)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := makeSides(t, test.trials, test.factor, test.fails)
			c, err := CompareSides(dir)
			if err != nil || c.Pairs != test.pairs {
				t.Fatalf("%d pairs, %v", c.Pairs, err)
			}
			for _, want := range test.want {
				if !strings.Contains(c.String(), want) {
					t.Errorf("the comparison is\n%s\nwithout %q", c, want)
				}
			}
			if c.Ratio.Value < 0.98*test.factor || c.Ratio.Value > 1.02*test.factor {
				t.Errorf("B/A is %v, want about %v", c.Ratio.Value, test.factor)
			}
			s, err := LoadSweep(dir)
			if err != nil {
				t.Fatal(err)
			}
			page, err := SweepReport(s)
			if err != nil {
				t.Fatal(err)
			}
			checkXML(t, "report.html", page)
			answer := c.String()[strings.LastIndex(c.String(), "\n")+1:]
			if !strings.Contains(string(page), "<p>"+sentence(answer)+".</p>") {
				t.Errorf("the report has no %q", answer)
			}
		})
	}
}

func TestCompareSidesRefuses(t *testing.T) {
	never := makeSides(t, 2, 1, func(number int, _ []string) bool { return number == 1 || number == 4 })
	astray := makeSides(t, 2, 1, nil)
	if err := os.WriteFile(filepath.Join(astray, metrics.TrialsFile), []byte(`[{"number":1}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	plain := makeSweep(t, t.TempDir(), sweepPlan{id: "plain", trials: 2, law: curve{4e6, 0, 0}, seed: 1})
	for dir, want := range map[string]string{
		plain:               "is not a folder of --ab: name two to compare",
		filepath.Dir(plain): "is not a folder of --ab",
		astray:              "trials.json: trial 1 is of neither side",
		never:               "ab: no pair has two valid trials: there is nothing to compare",
	} {
		_, err := CompareSides(dir)
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
}
