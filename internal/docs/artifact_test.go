package docs_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/metrics"
)

// shell runs a command in a folder, without a network for Go, and returns its output.
func shell(t *testing.T, dir, command string, env ...string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// TestArtifact packs a real result, unpacks it elsewhere, and does what its README.md says,
// without a network and without Go's module cache: the tables are the same to the byte, and the
// quick form runs. With KVLAB_LONG=1 a fresh clone measures the result again, and it agrees.
func TestArtifact(t *testing.T) {
	if os.Getenv("KVLAB_CI") != "1" && os.Getenv("KVLAB_LONG") != "1" {
		t.Skip("KVLAB_CI=1 or KVLAB_LONG=1 runs it")
	}
	dir := copyTree(t)
	commitTwice(t, dir)
	shell(t, dir, `./run-cluster.sh --local 1 1 --secs 1 --warmup 0.5 --records 20000 --batch 256 --trials 3 --no-ceiling`)
	shell(t, dir, `bin/kvsplot export --out tables logs/latest && bin/kvsplot pack logs/latest -o artifact.tar.gz`)
	unpacked := t.TempDir()
	shell(t, unpacked, "tar xzf "+filepath.Join(dir, "artifact.tar.gz"))
	tops, _ := filepath.Glob(filepath.Join(unpacked, "kvlab-*"))
	if len(tops) != 1 {
		t.Fatalf("folders %q", tops)
	}
	offline := []string{"GOPROXY=off", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local", "GOMODCACHE=" + t.TempDir()}
	tables, _ := filepath.Glob(filepath.Join(dir, "tables", "*.csv"))
	if out := shell(t, tops[0], "./figures.sh", offline...); len(tables) == 0 || strings.Count(out, ".csv: OK\n") != len(tables) {
		t.Errorf("figures.sh:\n%s", out)
	}
	for _, path := range tables {
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(filepath.Join(tops[0], "figures", "tables", filepath.Base(path))); err != nil || !bytes.Equal(before, again) {
			t.Errorf("%s is not the same (%v)", filepath.Base(path), err)
		}
	}
	if out := shell(t, tops[0], "./run.sh --quick --local", offline...); !strings.HasSuffix(out, "\nverdict VALID\n") || !strings.Contains(out, "not compared: ") {
		t.Errorf("run.sh --quick:\n%s", out)
	}
	if os.Getenv("KVLAB_LONG") != "1" {
		return
	}
	clone := filepath.Join(t.TempDir(), "clone")
	shell(t, dir, "git clone -q . "+clone)
	out := shell(t, clone, "./run-cluster.sh rerun "+filepath.Join(tops[0], "data")+" --times 6 --margin 50% --local")
	var r metrics.Rerun
	if err := metrics.ReadJSON(filepath.Join(clone, "logs", "latest", metrics.RerunFile), &r); err != nil || r.Outcome() != metrics.Agrees {
		t.Errorf("%v, %+v\n%s", err, r, out)
	}
}
