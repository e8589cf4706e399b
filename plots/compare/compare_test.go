package compare

import (
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
	"kvlab/plots/folder"
)

// twoFolders returns two made-up folders of Trials: B is faster by a factor, and has
// another batch.
func twoFolders(t *testing.T, trials int, factor float64, batch string) (a, b string) {
	t.Helper()
	root := t.TempDir()
	plan := foldertest.SweepPlan{ID: "a", Trials: trials, Law: foldertest.Law{4e6, 0, 0}, Noise: 0.01, Seed: 1}
	a = foldertest.MakeSweep(t, root, plan)
	plan.ID, plan.Seed, plan.Law[0] = "b", 2, 4e6*factor
	plan.Batch = batch
	return a, foldertest.MakeSweep(t, root, plan)
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name   string
		trials int
		factor float64
		batch  string
		want   []string
	}{
		{"faster", 10, 1.05, "64", []string{"B is faster, by ", "they differ in batch: 8192 and 64"}},
		{"slower", 10, 0.9, "", []string{"B is slower, by ", "the configurations are the same"}},
		{"alike", 10, 1, "", []string{"cannot tell apart: the interval holds 1", " is the smallest difference that 4 of 5 such comparisons see"}},
		{"few", 2, 2, "", []string{"cannot tell apart: B/A is ", "with 2 and 2 trials it has no interval, which needs 3 of each"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := twoFolders(t, test.trials, test.factor, test.batch)
			c, err := Compare([]string{a}, []string{b})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(c.String(), want) {
					t.Errorf("the comparison is\n%s\nwithout %q", c, want)
				}
			}
			if ratio := c.Results[0].Ratio() / test.factor; ratio < 0.98 || ratio > 1.02 {
				t.Errorf("B/A is %v, want about %v", c.Results[0].Ratio(), test.factor)
			}
			if low, high := c.Results[0].RatioInterval(0.95); c.Results[0].Known && (low > test.factor || high < test.factor) {
				t.Errorf("the interval %v to %v misses %v", low, high, test.factor)
			}
		})
	}
}

// A side may be run folders as well, and swapping the sides turns the answer
// round.
func TestCompareFolders(t *testing.T) {
	a, b := twoFolders(t, 6, 1.1, "")
	var runs []string
	for _, trial := range []string{"1", "2", "3", "4", "5", "6"} {
		runs = append(runs, filepath.Join(a, "trial-00"+trial))
	}
	c, err := Compare([]string{b}, runs)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(c.String(), "B is slower, by ") || c.B.Estimate.N != 6 {
		t.Errorf("the comparison is\n%s", c)
	}
}

func TestCheckRanked(t *testing.T) {
	full, quick := &folder.Run{}, &folder.Run{}
	full.ID, quick.ID, quick.Quick = "full", "look", true
	for _, runs := range [][]*folder.Run{{full, quick}, {quick, full}} {
		if err := checkRanked(runs); err == nil || err.Error() != "look was made with --quick and full was not: a quick run is never ranked against a full one" {
			t.Errorf("error %v", err)
		}
	}
	for _, runs := range [][]*folder.Run{{full, full}, {quick, quick}, nil} {
		if err := checkRanked(runs); err != nil {
			t.Error(err)
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	root := t.TempDir()
	good := foldertest.MakeSweep(t, root, foldertest.SweepPlan{ID: "good", Trials: 6, Law: foldertest.Law{4e6, 0, 0}, Noise: 0.01, Seed: 1})
	several := foldertest.MakeSweep(t, root, foldertest.SweepPlan{ID: "several", Knobs: []metrics.Knob{foldertest.Knob("nodes", "2", "4")}, Trials: 2, Law: foldertest.Law{4e6, 0, 0}, Seed: 1})
	bad := foldertest.MakeSweep(t, root, foldertest.SweepPlan{ID: "bad", Trials: 2, Law: foldertest.Law{4e6, 0, 0}, Seed: 1, Failed: []int{1, 2}})
	one := foldertest.MakeSweep(t, root, foldertest.SweepPlan{ID: "one-failed", Trials: 6, Law: foldertest.Law{4e6, 0, 0}, Seed: 3, Failed: []int{2}})
	for _, test := range []struct{ side, want string }{
		{several, "its runs differ in nodes, servers + clients: compare one configuration with another"},
		{bad, "bad/trial-001 is INVALID(misses in the window, node1): the others are a selection"},
		{one, "one-failed/trial-002 is INVALID(misses in the window, node1): the others are a selection"},
		{root, "neither run.json nor kvsserver-NODE.jsonl is in it"},
		{filepath.Join(root, "none"), "no such file"},
	} {
		_, err := Compare([]string{good}, []string{test.side})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.side, err, test.want)
		}
	}
}
