package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// measured runs the launcher over real programs, briefly, and returns its
// summary.txt and its output.
func measured(t *testing.T, root string, args ...string) (summary, said string) {
	t.Helper()
	out := t.TempDir()
	args = append(args, "--local", "--no-ceiling", "--out", out, "--client-args", "-records 2000 -workers 4 -batch 64 -rate 20k -warmup 0 -secs 3")
	text, err := exec.Command(filepath.Join(root, "bin", "kvscluster"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("kvscluster %q: %v\n%s", args, err, text)
	}
	return filepath.Join(out, "latest", "summary.txt"), string(text)
}

// benchstat is golang.org/x/perf's, of the version in go.mod.
func benchstat(t *testing.T, args ...string) string {
	t.Helper()
	text, err := exec.Command("go", append([]string{"run", "golang.org/x/perf/cmd/benchstat"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("benchstat %q: %v\n%s", args, err, text)
	}
	return string(text)
}

// benchstat reads summary.txt as it is: those of two runs side by side in one table,
// and the sides of --ab by their key. No key but the machine's keeps results apart.
func TestBenchstat(t *testing.T) {
	inCI(t)
	t.Parallel()
	root := build(t)
	a, _ := measured(t, root)
	b, _ := measured(t, root)
	// A row has both runs' values, and how they compare.
	row := regexp.MustCompile(`(?m)^KVS/servers=1/clients=1/\S* +\S+ ± ∞ ¹ +\S+ ± ∞ ¹ +~ \(p=1\.000 n=1\)`)
	if text := benchstat(t, a, b); !row.MatchString(text) || strings.Count(text, "cpu: ") != 1 {
		t.Errorf("of two runs:\n%s", text)
	}
	sides, said := measured(t, root, "--ab", "", "--client-args '-batch 32'", "--trials", "1", "-v")
	if !strings.Contains(said, "they differ in batch: 64 and 32\n") {
		t.Errorf("the comparison:\n%s", said)
	}
	text := benchstat(t, "-col", "side", sides)
	if !row.MatchString(text) || !regexp.MustCompile(`(?m)│ +A +│ +B +│`).MatchString(text) || strings.Contains(text, "batch=") {
		t.Errorf("of two sides:\n%s", text)
	}
}
