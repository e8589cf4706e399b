package compare

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

func TestVariants(t *testing.T) {
	for _, test := range []struct {
		name   string
		trials int
		factor float64
		pairs  int
		want   []string
	}{
		{"faster", 8, 1.1, 8, []string{"A  no arguments: ops/s ", "B  --client-args '-x <1>': ops/s ", "B is faster, by ", "(the mean of 8 pairs)", "they differ in side: A and B"}},
		{"slower", 8, 0.9, 8, []string{"B is slower, by "}},
		{"alike", 8, 1, 8, []string{"cannot tell apart: the interval holds 1"}},
		{"few", 2, 2, 2, []string{"cannot tell apart: B/A is ", "but with 2 pairs it has no interval, which needs 3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := foldertest.MakeSweep(t, t.TempDir(), foldertest.Sides(test.trials, test.factor))
			c, err := Variants(dir)
			if err != nil || c.Results[0].A != test.pairs {
				t.Fatalf("%d pairs, %v", c.Results[0].A, err)
			}
			for _, want := range test.want {
				if !strings.Contains(c.String(), want) {
					t.Errorf("the comparison is\n%s\nwithout %q", c, want)
				}
			}
			if c.Results[0].Ratio() < 0.98*test.factor || c.Results[0].Ratio() > 1.02*test.factor {
				t.Errorf("B/A is %v, want about %v", c.Results[0].Ratio(), test.factor)
			}
		})
	}
}

func TestVariantsRefuses(t *testing.T) {
	never := foldertest.MakeSweep(t, t.TempDir(), foldertest.Sides(2, 1, 1, 4))
	astray := foldertest.MakeSweep(t, t.TempDir(), foldertest.Sides(2, 1))
	if err := os.WriteFile(filepath.Join(astray, metrics.TrialsFile), []byte(`[{"schema":2,"number":1}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	plain := foldertest.MakeSweep(t, t.TempDir(), foldertest.SweepPlan{ID: "plain", Trials: 2, Law: foldertest.Law{4e6, 0, 0}, Seed: 1})
	for dir, want := range map[string]string{
		plain:               "is not a folder of --ab: name two to compare",
		filepath.Dir(plain): "is not a folder of --ab",
		astray:              "trials.json: trial 1 is of point [], which sweep.json does not have",
		never:               "ab/trial-001 is INVALID(misses in the window, node1): the others are a selection",
	} {
		_, err := Variants(dir)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dir, err, want)
		}
	}
}
