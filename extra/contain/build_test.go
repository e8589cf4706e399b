package contain

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/target"
)

// checkout writes a folder with a module whose server is main.
func checkout(t *testing.T, main string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"go.mod": "module kvlab\n\ngo 1.21\n", "cmd/kvsserver/main.go": main} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const hello = "package main\n\nfunc main() { println(\"hello\") }\n"

// repository makes a folder a repository with one commit, whose configuration starts
// programs that make the file started.
func repository(t *testing.T, dir string) (started string) {
	t.Helper()
	started = filepath.Join(t.TempDir(), "started")
	program := filepath.Join(t.TempDir(), "attack")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+started+"; cat"), 0o755); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %q: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	if err := os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("* filter=attack\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	git("add", ".")
	git("commit", "-q", "-m", "one")
	for _, setting := range []string{"core.fsmonitor", "filter.attack.smudge", "filter.attack.clean", "uploadpack.packObjectsHook", "core.sshCommand", "core.pager", "core.editor"} {
		git("config", setting, program)
	}
	for _, hook := range []string{"post-checkout", "pre-receive", "post-index-change", "reference-transaction"} {
		if err := os.WriteFile(filepath.Join(dir, ".git", "hooks", hook), []byte("#!/bin/sh\ntouch "+started+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return started
}

// strangers says how to build contained.
func strangers(t *testing.T) remote.Submitted {
	t.Helper()
	inCI(t)
	needRoot(t)
	limits, err := Flag.Parse("memory=1GB")
	if err != nil {
		t.Fatal(err)
	}
	return remote.Submitted{Contain: limits, Launcher: os.Args[0], Root: "."}
}

// A repository is built from its commit, a folder as it is. Neither starts anything of the
// stranger's.
func TestCheckout(t *testing.T) {
	s := strangers(t)
	var b remote.Builds
	defer b.Remove()
	repo := checkout(t, hello)
	started := repository(t, repo)
	if err := os.WriteFile(filepath.Join(repo, "cmd", "kvsserver", "main.go"), []byte("not committed"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"repository": repo, "folder": checkout(t, hello)} {
		commit, program, err := b.Checkout(t.Context(), dir, s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "hello\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if isCommit := len(commit) == 40; isCommit != (name == "repository") || commit == "" {
			t.Errorf("%s: commit %q", name, commit)
		}
		again, same, err := b.Checkout(t.Context(), dir, s)
		if again != commit || same != program || err != nil {
			t.Errorf("%s again: %s, %s, %v", name, again, same, err)
		}
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("a build has started a program that the checkout's configuration names")
	}
}

// An error is the compiler's last lines.
func TestCheckoutFails(t *testing.T) {
	s := strangers(t)
	for name, test := range map[string]struct{ main, want string }{
		"compiler": {"package main\n\nfunc main() { x }\n", "undefined: x"},
		"module":   {"package main\n\nimport \"example.com/none\"\n\nfunc main() { none.X() }\n", "example.com/none"},
	} {
		var b remote.Builds
		_, _, err := b.Checkout(t.Context(), checkout(t, test.main), s)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		b.Remove()
	}
}

// A target's build command is an attacker: it sees no neighbour, no network and no folder of
// the user, and its program and messages have bounds.
func TestBuildAttacks(t *testing.T) {
	s := strangers(t)
	var b remote.Builds
	defer b.Remove()
	neighbour := filepath.Join(t.TempDir(), "secret.go")
	if err := os.WriteFile(neighbour, []byte("package secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own"), []byte("own"), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"inside": "own", "outside": neighbour} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for script, want := range map[string]string{
		"cp own $1":                             "",
		"cp inside $1":                          "",
		"cp outside $1":                         "cannot stat",
		"cp " + neighbour + " $1":               "cannot stat",
		"echo x > " + dir + "/new && cp own $1": "nonexistent",
		"touch $GOMODCACHE/x && cp own $1":      "Read-only",
		"yes; cp own $1":                        "y | y | y | y | y",
		"exit 3":                                "exit status 3",
	} {
		if strings.HasPrefix(script, "yes") {
			script = "yes | head -c 100000000 >&2; exit 1"
		}
		path, err := b.Store(t.Context(), target.Target{Name: "x", Dir: dir, Build: "sh -c '" + script + " && chmod +x $1' sh {bin}"}, s)
		program, _ := os.ReadFile(path) // none of a build that has failed
		if want == "" && (err != nil || string(program) != "own") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %q, %v; want %q", script, program, err, want)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 3 {
		t.Errorf("the folder has %v", files)
	}
}
