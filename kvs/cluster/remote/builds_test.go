package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Files that git does not know do not make a commit dirty, and the checkout's
// configuration starts no program.
func TestCommit(t *testing.T) {
	root, started := t.TempDir(), filepath.Join(t.TempDir(), "started")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %q: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("known", "1")
	git("add", "known")
	git("commit", "-q", "-m", "one")
	git("config", "core.fsmonitor", script(t, "monitor", "touch "+started))
	write("unknown", "")
	clean := Commit(t.Context(), root)
	if len(clean) != 40 {
		t.Errorf("commit %q with an unknown file, want a hash", clean)
	}
	write("known", "two")
	if got := Commit(t.Context(), root); got != clean+"-dirty" {
		t.Errorf("commit %q with a changed file, want %s-dirty", got, clean)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("git has started the checkout's core.fsmonitor")
	}
	if got := Commit(t.Context(), filepath.Join(root, "none")); strings.TrimSpace(got) != "" {
		t.Errorf("commit %q of no repository", got)
	}
}
