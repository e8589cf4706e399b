package disk

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
)

// launch runs a command of the checkout, and returns its output.
func launch(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// The launcher builds the programs of extra/rivals for an engine on disk. The result is VALID,
// names the promise, and leaves no folder behind.
func TestRun(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, row := range rows {
		dir := t.TempDir()
		out := launch(t, "./run-cluster.sh --local --engine "+row.Name+" --sync os --workload YCSB-F --records 10000 --workers 4 --batch 64 --warmup 0.5 --secs 1 --no-ceiling --out "+dir)
		text, err := os.ReadFile(filepath.Join(dir, "latest", "run.json"))
		var run metrics.Run
		if err == nil {
			err = json.Unmarshal(text, &run)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want := "engine " + row.Name + ", sync os: an acknowledged write is kept after kill -9"; !run.Verdict.Valid || !strings.HasPrefix(run.Conditions()[metrics.Durability], want) || run.Counting != metrics.CountsExact {
			t.Errorf("%s: durability %q, verdict %v; want %q\n%s", row.Name, run.Durability, run.Verdict, want, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "kvlab-store-*")); err != nil || left != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A sweep over an engine of the checkout and one of extra/rivals is verified as recorded.
func TestSweepIsAsRecorded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	launch(t, "./run-cluster.sh --local --sweep engine=slab,pebble --trials 1 --records 5000 --workers 4 --batch 64 --warmup 0.5 --secs 1 --no-ceiling --out "+dir)
	if said := launch(t, "bin/kvsplot verify "+filepath.Join(dir, "latest")); strings.Count(said, ": VALID, as recorded\n") != 3 {
		t.Errorf("verify:\n%s", said)
	}
}

// The programs accept every command that the page of these engines shows.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/durability.md")
	if err != nil {
		t.Fatal(err)
	}
	planned := 0
	for line := range strings.Lines(string(page)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		switch words := strings.Fields(line); {
		case len(words) == 0:
			continue
		case words[0] == "./run-cluster.sh":
			launch(t, line+" --dry-run")
		case words[0] == "bin/rivals/kvsserver":
			launch(t, strings.Replace(line, words[0], words[0]+" -settings", 1))
		default:
			continue
		}
		planned++
	}
	if planned == 0 {
		t.Error("the page shows no command")
	}
}
