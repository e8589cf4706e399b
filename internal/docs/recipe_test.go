package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

// TestPandasRecipe runs the recipe of docs/results.md on the tables of a made-up run, and
// compares what it prints with run.json.
func TestPandasRecipe(t *testing.T) {
	// To import it would take long.
	const has = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pandas') is None)"
	python := "/usr/bin/python3" // Debian's, which has Debian's pandas
	if exec.Command(python, "-c", has).Run() != nil {
		python = "python3"
		if out, err := exec.Command(python, "-c", has).CombinedOutput(); err != nil {
			if os.Getenv("KVLAB_CI") == "1" {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Skip("python3 has no pandas")
		}
	}
	page, err := os.ReadFile("docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, ok := strings.Cut(string(page), "```python\n")
	if recipe, _, _ = strings.Cut(recipe, "```"); !ok {
		t.Fatal("docs/results.md has no recipe")
	}
	dir := t.TempDir()
	run, tables := filepath.Join(dir, "run"), filepath.Join(dir, "tables")
	foldertest.WriteFolder(t, run, foldertest.MakeRun(t, foldertest.Gallery["small"]))
	kvsplot := filepath.Join(dir, "kvsplot")
	linked(t, "./cmd/kvsplot", kvsplot)
	if out, err := exec.Command(kvsplot, "export", "--out", tables, run).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(python, "-c", recipe, tables).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var want metrics.Run
	if err := metrics.ReadJSON(filepath.Join(run, "run.json"), &want); err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(out))
	for _, figure := range []string{want.ID, fmt.Sprint(want.InWindow().Ops()), fmt.Sprint(int64(*want.Latency[metrics.CallLatency].P99))} {
		found := false
		for _, word := range words {
			found = found || strings.TrimSuffix(word, ".0") == figure
		}
		if !found {
			t.Errorf("the recipe does not print %s:\n%s", figure, out)
		}
	}
}
