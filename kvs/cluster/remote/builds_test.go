package remote

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
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
	clean, changed := Commit(t.Context(), root)
	if len(clean) != 40 || changed != nil {
		t.Errorf("commit %q with an unknown file, want a hash", clean)
	}
	write("known", "two")
	if got, changed := Commit(t.Context(), root); got != clean+"-dirty" || !slices.Equal(changed, []string{"known"}) {
		t.Errorf("commit %q with a changed file, want %s-dirty, and %q of known", got, clean, changed)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("git has started the checkout's core.fsmonitor")
	}
	if got, _ := Commit(t.Context(), filepath.Join(root, "none")); strings.TrimSpace(got) != "" {
		t.Errorf("commit %q of no repository", got)
	}
}

// The next launcher removes the folder of one that was killed. A locked folder, a young one
// and a file stay.
func TestStaleBuilds(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{"killed", "alive", "young"} {
		dir := filepath.Join(temp, folderName+name)
		if err := os.MkdirAll(filepath.Join(dir, "commit", "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(temp, folderName+"file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"killed", "alive", "file"} {
		if err := os.Chtimes(filepath.Join(temp, folderName+name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := lockFolder(filepath.Join(temp, folderName+"alive"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	left := func() (names []string) {
		all, _ := filepath.Glob(filepath.Join(temp, folderName+"[a-z]*"))
		for _, dir := range all {
			names = append(names, strings.TrimPrefix(filepath.Base(dir), folderName))
		}
		return names
	}
	var b Builds
	if err := b.open(); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []string{"alive", "file", "young"}) {
		t.Errorf("folders %q are left", got)
	}
	if _, err := lockFolder(b.dir); err == nil {
		t.Error("the launcher's own folder is not locked")
	}
	if err := b.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b.dir); err == nil {
		t.Error("the folder is left after Remove")
	}
}
