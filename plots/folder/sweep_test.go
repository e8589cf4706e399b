package folder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoadSweepRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(words string) {
		t.Helper()
		_, err := LoadSweep(dir)
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("error %v, want one about %q", err, words)
		}
	}
	wants("is not a sweep's folder: sweep.json is not in it")
	write("sweep.json", "{")
	wants("sweep.json: ")
	write("sweep.json", `{"id":"x","knobs":[{"name":"nodes","values":["2"]}],"order":[{"number":1,"point":["2"]}]}`)
	write("trials.json", `[{"number":1,"point":["3"],"verdict":{"valid":true}}]`)
	wants(`trial 1 is of point ["3"]`)
	write("trials.json", `[{"number":1,"point":["2"],"folder":"trial-001","verdict":{"valid":true}}]`)
	wants("trial-001: read the run: open run.json: no such file")
}
