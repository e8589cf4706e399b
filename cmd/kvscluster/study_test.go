package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
)

// planted is a study whose claims are known to be true, false, or beyond what a few rounds
// can tell. The rate of an open loop is what its flag says. Two closed loops that differ in
// the seed alone are alike, but a few rounds cannot show that within 0.01 %.
const planted = `title = "Planted"
source = "planted at 1"
alpha = 0.01
args = "1 1 --records 5000 --warmup 0 --workers 4 --batch 64"
[quick]
rounds = 3
args = "--secs 3"
[full]
rounds = 6
args = "--secs 1"
`

const openLoops = `[[point]]
name = "slow"
args = "--rate 4k"
[[point]]
name = "fast"
args = "--rate 8k"
`

var plantedStudies = []struct {
	name, text string
	want       metrics.Outcome
}{
	{"true", openLoops + `[[claim]]
name = "twice"
text = "Twice."
kind = "ratio"
points = ["slow", "fast"]
value = 2
tolerance = "10%"
[[claim]]
name = "faster"
text = "Faster."
kind = "order"
points = ["slow", "fast"]
[[claim]]
name = "accounted"
text = "All operations are counted."
kind = "at-least"
points = ["fast"]
value = 1
measure = "accounted"
`, metrics.Reproduced},
	{"false", openLoops + `[[claim]]
name = "thrice"
text = "Thrice."
kind = "ratio"
points = ["slow", "fast"]
value = 3
tolerance = "10%"
[[claim]]
name = "same"
text = "No difference."
kind = "same"
points = ["slow", "fast"]
tolerance = "20%"
`, metrics.Contradicted},
	{"unknown", `[[point]]
name = "seed-2"
args = "--seed 2"
[[point]]
name = "seed-3"
args = "--seed 3"
[[claim]]
name = "same"
text = "No difference."
kind = "same"
points = ["seed-2", "seed-3"]
tolerance = "0.01%"
`, metrics.CannotTell},
}

// studied runs a study over real programs, and returns its outcomes.
func studied(t *testing.T, name, text string, flags ...string) (dir string, results []metrics.ClaimResult) {
	t.Helper()
	root, out := build(t), t.TempDir()
	file := filepath.Join(t.TempDir(), name+".toml")
	if err := os.WriteFile(file, []byte(planted+text), 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), append([]string{"--local", "--out", out, "--study", file}, flags...)...).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(said), "\nverdict VALID\n") {
		t.Fatalf("%v\n%s", err, said)
	}
	dir = filepath.Join(out, "latest")
	read(t, filepath.Join(dir, metrics.ClaimsFile), &results)
	return dir, results
}

// A quick study of real programs has an outcome for each claim, whatever it is, and its
// files.
func TestQuickStudy(t *testing.T) {
	inCI(t)
	t.Parallel()
	dir, results := studied(t, "quick", plantedStudies[0].text, "--quick")
	if len(results) != 3 {
		t.Fatalf("%d results", len(results))
	}
	for _, r := range results {
		if r.Rounds != 3 || r.Reason == "" || len(r.Values) != len(r.Claim.Points) || len(r.Pairs) != 1 || !(r.Pairs[0].Low <= r.Pairs[0].Low90 && r.Pairs[0].High90 <= r.Pairs[0].High && r.Pairs[0].High > 0) {
			t.Errorf("%+v", r)
		}
	}
	for _, file := range []string{"study.md", "report.html", "summary.txt", "claim_quick_twice.png"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
}

// The outcomes of three planted studies are right.
func TestPlantedStudies(t *testing.T) {
	if os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_LONG=1 runs it")
	}
	for _, study := range plantedStudies {
		_, results := studied(t, study.name, study.text)
		for _, r := range results {
			t.Logf("%s/%s: %s: %s", study.name, r.Claim.Name, r.Outcome, r.Reason)
			if r.Outcome != study.want {
				t.Errorf("%s/%s: %s, want %s", study.name, r.Claim.Name, r.Outcome, study.want)
			}
		}
	}
}
