package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kvlab/internal/foldertest"
	"kvlab/metrics"
)

// drawer stands for kvsplot: its table is the names and digests of the data.
const drawer = `#!/bin/sh
if [ "$1" = export ]; then
  mkdir -p "$3" && (cd "$4" && find . -type f | LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum) >"$3/runs.csv"
fi
`

// builder stands for run-cluster.sh.
const builder = `#!/bin/sh
cd -- "$(dirname -- "$0")" && mkdir -p bin && cp cmd/kvsplot.sh bin/kvsplot && chmod +x bin/kvsplot
`

// checkout returns a git checkout of a small program, with one commit.
func checkout(t *testing.T) (dir, commit string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module kvlab\n\ngo 1.26\n", "LICENSE": "Do what you like.\n", "run-cluster.sh": builder, "cmd/kvsplot.sh": drawer,
		".gitignore": "/logs/\n/bin/\n", "main.go": "package main\n\nfunc main() {}\n",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "run-cluster.sh"), 0o755), os.Symlink("cmd/kvsplot.sh", filepath.Join(dir, "link.sh"))); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "one")
	return dir, git(t, dir, "rev-parse", "HEAD")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	args = append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// run makes up a run of a commit, with a command.
func run(t *testing.T, root, commit string, command ...string) string {
	t.Helper()
	dir := filepath.Join(root, "logs", "20261123-020000")
	foldertest.WriteFolder(t, dir, foldertest.MakeRun(t, foldertest.Gallery["small"]))
	var r metrics.Run
	if err := metrics.ReadJSON(filepath.Join(dir, "run.json"), &r); err != nil {
		t.Fatal(err)
	}
	r.GitCommit, r.Command = commit, append([]string{"run-cluster.sh"}, command...)
	r.Started = time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	r.Ended = r.Started.Add(90 * time.Second)
	foldertest.WriteJSON(t, filepath.Join(dir, "run.json"), r)
	write(t, filepath.Join(dir, "cpu.png"), "drawn")
	write(t, filepath.Join(dir, "report.html"), "drawn")
	foldertest.WriteManifest(t, dir)
	return dir
}

// entries returns the files of an archive by name, below its top folder; links have their target.
func entries(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	if !zipped.ModTime.IsZero() || zipped.Name != "" {
		t.Errorf("the archive names a time or a file: %+v", zipped.Header)
	}
	all, last := map[string]string{}, ""
	for reader := tar.NewReader(zipped); ; {
		h, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if strconv.FormatInt(h.ModTime.Unix(), 10) != epoch || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Mode != 0o644 && h.Mode != 0o755 || !filepath.IsLocal(h.Name) || h.Name == last {
			t.Errorf("%+v", h)
		}
		last = h.Name
		text, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if _, name, _ := strings.Cut(h.Name, "/"); h.Typeflag != tar.TypeDir {
			all[name] = string(text) + h.Linkname
		}
	}
}

// An archive has what it should, whatever the files are called, and no path of this machine.
// Packed again it is the same, to the byte.
func TestPack(t *testing.T) {
	root, commit := checkout(t)
	dir := run(t, root, commit, "--study", "mine.toml", "--client-args", "-target=sub/store.toml", "--hosts", "/etc/passwd")
	for name, text := range map[string]string{"mine.toml": "title", "sub/store.toml": "name", "other.toml": "x"} {
		write(t, filepath.Join(root, name), text)
	}
	odd := []string{"kvsserver-ü '\"$(x)|.log", " space", "-dash", "emoji-🙂.jsonl"}
	for _, name := range odd {
		write(t, filepath.Join(dir, name), name)
	}
	write(t, filepath.Join(dir, "trial-001-cut1", "run.json"), "interrupted")
	write(t, filepath.Join(dir, "history-clients.html"), "a witness")
	foldertest.WriteManifest(t, dir)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "secret")); err != nil {
		t.Fatal(err)
	}
	latest := filepath.Join(root, "logs", "latest")
	if err := os.Symlink(filepath.Base(dir), latest); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	t.Chdir(t.TempDir())
	const out = "a.tar.gz"
	if err := Pack(root, latest, out, false, &said); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := Pack(root, dir, out, false, io.Discard); err != nil { // in place of the first
		t.Fatal(err)
	}
	if again, err := os.ReadFile(out); err != nil || !bytes.Equal(first, again) {
		t.Errorf("packed again, it is not the same (%v)", err)
	}
	files := entries(t, out)
	want := []string{"LICENSE", "README.md", "commit.txt", "figures.sh", "host.json", "programs.sha256", "run.sh", "tables.sha256",
		"data/run.json", "data/history-clients.html", "source/main.go", "source/run-cluster.sh", "source/mine.toml", "source/sub/store.toml"}
	for _, name := range odd {
		want = append(want, "data/"+name)
	}
	for _, name := range want {
		if files[name] == "" {
			t.Errorf("%s is missing or empty", name)
		}
	}
	if files["source/link.sh"] != "cmd/kvsplot.sh" {
		t.Errorf("a link of the source leads to %q", files["source/link.sh"])
	}
	for name, text := range files {
		wrong := strings.HasSuffix(name, ".png") || strings.Contains(name, "report.html") || strings.Contains(name, "-cut") || strings.HasPrefix(name, "figures/") ||
			slices.Contains([]string{"data/secret", "source/other.toml", "source/bin/kvsplot", "diff.patch"}, name)
		if wrong || strings.Contains(text, root) || strings.Contains(text, "kvlab-artifact-") {
			t.Errorf("%s should not be there, or has a path of this machine", name)
		}
	}
	if !strings.Contains(said.String(), `"secret" of the run's folder`) || !strings.Contains(files["README.md"], "| `./run.sh` | 1.5 |") {
		t.Errorf("said %q; README.md:\n%s", said.String(), files["README.md"])
	}
}

// figures.sh of an unpacked archive finds the tables as they were, and notices data that is
// not.
func TestFiguresScript(t *testing.T) {
	root, commit := checkout(t)
	out := filepath.Join(t.TempDir(), "artifact.tar.gz")
	if err := Pack(root, run(t, root, commit), out, false, io.Discard); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if text, err := exec.Command("tar", "-C", dir, "-xzf", out).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	tops, _ := filepath.Glob(filepath.Join(dir, "kvlab-*"))
	if len(tops) != 1 {
		t.Fatalf("folders %q", tops)
	}
	script := filepath.Join(tops[0], "figures.sh")
	if text, err := exec.Command(script).CombinedOutput(); err != nil || !strings.HasSuffix(string(text), "runs.csv: OK\n") {
		t.Errorf("%v\n%s", err, text)
	}
	write(t, filepath.Join(tops[0], "data", "run.json"), "{}")
	if text, err := exec.Command(script).CombinedOutput(); err == nil || !strings.Contains(string(text), "runs.csv: FAILED") {
		t.Errorf("other data: %v\n%s", err, text)
	}
}

// Changes that were not committed are in the source and in diff.patch, if the checkout still
// has them. What cannot be what ran is refused.
func TestPackSource(t *testing.T) {
	root, commit := checkout(t)
	out := filepath.Join(t.TempDir(), "a.tar.gz")
	refused := func(commit, want string) {
		t.Helper()
		if err := Pack(root, run(t, root, commit), out, false, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("commit %q: %v, want %q", commit, err, want)
		}
	}
	refused("", "has no git commit")
	refused(strings.Repeat("0", 40), "is not in "+root)
	refused("--all", "is not in "+root)
	refused(commit+"-dirty", "has none now")
	write(t, filepath.Join(root, "main.go"), "package main\n\nfunc main() { println() }\n")
	var said bytes.Buffer
	if err := Pack(root, run(t, root, commit+"-dirty"), out, false, &said); err != nil {
		t.Fatal(err)
	}
	files := entries(t, out)
	if !strings.Contains(files["source/main.go"], "println") || !strings.Contains(files["diff.patch"], "+func main() { println() }") || !strings.Contains(said.String(), "a proof that diff.patch is what ran") {
		t.Errorf("said %q; diff %q", said.String(), files["diff.patch"])
	}
	if status := git(t, root, "status", "--porcelain"); status != "M main.go" {
		t.Errorf("the checkout's state is now %q", status)
	}
	if err := Pack(root, run(t, root, commit), out, false, io.Discard); err != nil {
		t.Fatal(err)
	}
	if files := entries(t, out); strings.Contains(files["source/main.go"], "println") {
		t.Error("the source of a commit has changes that came later")
	}
	git(t, root, "commit", "-q", "-am", "two")
	refused(commit+"-dirty", "the checkout is on "+git(t, root, "rev-parse", "HEAD"))
	before, _ := os.ReadFile(out)
	write(t, filepath.Join(root, "cmd", "kvsplot.sh"), "exit 1")
	git(t, root, "commit", "-q", "-am", "three")
	refused(git(t, root, "rev-parse", "HEAD"), "figures.sh: exit status 1")
	if after, err := os.ReadFile(out); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a refusal has changed the file (%v)", err)
	}
}
