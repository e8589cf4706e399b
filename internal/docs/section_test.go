package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checkSections measures a run and a foreign store in a checkout with its programs, with
// KVLAB_LONG=1 a sweep and a comparison too, writes the section of a README of each, and runs the
// section's commands in a fresh clone.
func checkSections(t *testing.T, dir string) {
	clone := filepath.Join(filepath.Dir(dir), "clone") // the foreign store is beside it, too
	shell(t, dir, "git clone -q . "+clone)
	t.Setenv("KVLAB_BIN", filepath.Join(dir, "bin"))
	kinds := []string{"", "--target ../team-7/store.toml"}
	if os.Getenv("KVLAB_LONG") == "1" {
		kinds = append(kinds, "--sweep inflight=1,2 --trials 1", `--ab "" "--engine slab" --trials 1`)
	}
	for _, args := range kinds {
		checkRun(t, dir, "", "./run-cluster.sh 1 1 --local --no-ceiling --out "+dir+"/logs "+args+` --client-args "-records 20000 -warmup 0.2 -secs 0.5 -batch 64 -workers 2"`)
		shell(t, dir, "bin/kvsplot markdown -o section.md logs/latest")
		text, err := os.ReadFile(filepath.Join(dir, "section.md"))
		if err != nil {
			t.Fatal(err)
		}
		if lacks := strings.Contains(string(text), "which is not in the repository"); lacks != strings.Contains(args, "team-7") {
			t.Errorf("it says that a clone lacks a file: %t\n%s", lacks, text)
		}
		blocks := strings.Split(string(text), "\n```sh\n")
		if len(blocks) < 2 {
			t.Fatalf("the section has no commands:\n%s", text)
		}
		for i, block := range blocks[1:] {
			block, _, _ = strings.Cut(block, "\n```")
			for line := range strings.Lines(block) {
				if i > 0 { // the same with more trials
					line = "true; " + strings.TrimSpace(line) + " --dry-run"
				}
				checkRun(t, clone, "", strings.TrimSpace(line))
			}
		}
	}
}
