package remote

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics/format"
)

// Submitted says how submitted sources are built: without a network, in an
// environment that has nothing of the user's, and contained if it has a Wrapper.
type Submitted struct {
	Contain  plan.Wrapper // nil for none
	Launcher string       // the path of kvscluster
	Root     string       // the launcher's checkout, whose Go builds
}

// limits returns the text of the limits; "" for none.
func (s Submitted) limits() string {
	if s.Contain == nil {
		return ""
	}
	return s.Contain.String()
}

const (
	buildLimit = 5 * time.Minute // kvlab's server takes 40 s on two idle processors, with nothing cached
	mostBuilt  = 1e9             // bytes of a program
	mostSpoken = 64 << 10        // bytes of a compiler's messages that are kept
	saidLines  = 5               // lines of a compiler's messages in an error
)

// Checkout builds the server of another checkout, once, and returns its commit and the
// program's path. If the folder is a repository, it builds the commit that is checked out, and
// starts nothing that the repository's configuration names. Any other folder is built as it is.
func (b *Builds) Checkout(ctx context.Context, checkout string, s Submitted) (commit, server string, err error) {
	if checkout, err = filepath.Abs(checkout); err != nil {
		return "", "", err
	}
	key := checkout + "\n" + s.limits()
	if path, ok := b.stores[key]; ok {
		return b.commits[key], path, nil
	}
	if _, err := os.Stat(filepath.Join(checkout, "cmd", "kvsserver")); err != nil {
		return "", "", fmt.Errorf(`%s is no checkout of kvlab: it has no cmd/kvsserver: another store wants a target file, as in --ab "" "--target %s"`, checkout, filepath.Join(checkout, "store.toml"))
	}
	if err := b.open(); err != nil {
		return "", "", err
	}
	own := filepath.Join(b.dir, fmt.Sprintf("checkout-%d", len(b.stores)))
	source := checkout
	if _, err := os.Lstat(filepath.Join(checkout, ".git")); err == nil {
		source = filepath.Join(own, "source")
		if commit, err = clone(ctx, checkout, source, own); err != nil {
			return "", "", err
		}
	}
	server = filepath.Join(own, "kvsserver")
	if err := os.MkdirAll(own, 0o755); err != nil {
		return "", "", err
	}
	if err := s.build(ctx, source, server, func(to string) ([]string, error) {
		return []string{"go", "build", "-buildvcs=false", "-o", to, "./cmd/kvsserver"}, nil
	}); err != nil {
		return "", "", err
	}
	if source != checkout {
		err = os.RemoveAll(source)
	} else {
		var program []byte
		program, err = os.ReadFile(server)
		commit = fmt.Sprintf("program-%x", sha256.Sum256(program))
	}
	b.stores[key], b.commits[key] = server, commit
	return commit, server, err
}

// clone copies a repository to source, and returns the commit. own is a folder for git's
// configuration. Git refuses repositories of other users unless the user's own configuration
// trusts them. Here upload-pack reads the repository, which is safe for any (git(1), SECURITY).
func clone(ctx context.Context, repository, source, own string) (commit string, err error) {
	config := filepath.Join(own, "gitconfig")
	if err := cmp.Or(os.MkdirAll(own, 0o755), os.WriteFile(config, []byte("[safe]\n\tdirectory = *\n[core]\n\thooksPath = /dev/null\n"), 0o644)); err != nil {
		return "", err
	}
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + own, "GIT_CONFIG_GLOBAL=" + config, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=file"}
		out, err := nodes.Output(cmd)
		if err != nil {
			err = fmt.Errorf("git %s: %w", args[0], err)
		}
		return strings.TrimSpace(out), err
	}
	if _, err := git("clone", "--quiet", "--no-local", "--depth=1", "--no-tags", "--", repository, source); err != nil {
		return "", err
	}
	return git("-C", source, "rev-parse", "HEAD")
}

// buildScript runs in the build's own folder. It unpacks the source, builds there, and writes the
// program, and nothing else, to its standard output. It leaves out the files' times: tar
// complains about future ones. Where the kernel refuses namespaces, the folder is the machine's,
// and Go's cache takes no files; the build then has a cache of its own.
const buildScript = `set -e
mkdir -p "$TMPDIR/source"
trap 'cd / && rm -rf "$TMPDIR"' EXIT
touch "$GOCACHE/kvlab" 2>/dev/null && rm -f "$GOCACHE/kvlab" || export GOCACHE="$TMPDIR/cache"
cd "$TMPDIR/source"
tar -xomf -
"$@" >&2 </dev/null
cat "$TMPDIR/built"`

// build runs the command that builds a program, in a copy of a folder, and writes the program to
// a path. Links are copied as links: in a contained build, a link out of the folder leads nowhere.
// A contained build keeps nothing that it compiles. With -trimpath it finds the standard library
// in Go's cache, where run-cluster.sh has compiled it.
func (s Submitted) build(ctx context.Context, source, path string, command func(to string) ([]string, error)) (err error) {
	ctx, cancel := withinLimit(ctx)
	defer cancel()
	asked := exec.CommandContext(ctx, cmp.Or(os.Getenv("KVLAB_GO"), "go"), "env", "GOROOT", "GOMODCACHE", "GOCACHE")
	asked.Dir = s.Root
	folders, err := asked.Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	paths := strings.Fields(string(folders))
	if len(paths) != 3 {
		return fmt.Errorf("go env says %q, want three paths without spaces", folders)
	}
	goroot, modules, cache := paths[0], paths[1], paths[2]
	room := fmt.Sprintf("/tmp/kvlab-build-%016x", rand.Uint64())
	if s.Contain == nil {
		if room, err = os.MkdirTemp("", "kvlab-build-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(room)) }()
		cache = filepath.Join(room, "cache")
	}
	words, err := command(filepath.Join(room, "built"))
	if err != nil {
		return err
	}
	line := append([]string{"/usr/bin/env", "-i",
		"PATH=" + goroot + "/bin:/usr/local/bin:/usr/bin:/bin", "HOME=" + room, "TMPDIR=" + room,
		"GOENV=off", "GOTOOLCHAIN=local", "GOPROXY=off", "GOSUMDB=off", "GOVCS=*:off", "GOAUTH=off", "GOWORK=off",
		"GOFLAGS=-mod=readonly -trimpath", "CGO_ENABLED=0", "GOMODCACHE=" + modules, "GOCACHE=" + cache,
		"sh", "-c", buildScript, "sh"}, words...)
	if s.Contain != nil {
		line = s.Contain.Build(s.Launcher, []string{goroot, modules}, []string{cache}, line...)
	}
	return convert(ctx, os.DirFS(source), path, buildCommand(ctx, line))
}

// withinLimit returns the context of a build.
func withinLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, buildLimit, fmt.Errorf("the build takes longer than %s", buildLimit))
}

// buildCommand returns a command that ends, with all that it has started, when ctx ends.
func buildCommand(ctx context.Context, words []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// convert runs a command that reads a folder as a tar file and writes a program, and stores the
// program at path.
func convert(ctx context.Context, source fs.FS, path string, cmd *exec.Cmd) (err error) {
	program, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, program.Chmod(0o755), program.Close()) }()
	var said lastBytes
	cmd.Stderr, cmd.WaitDelay = &said, nodes.LeaveDelay
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	packed := make(chan error, 1)
	go func() {
		w := tar.NewWriter(in)
		packed <- cmp.Or(w.AddFS(source), w.Close(), in.Close())
	}()
	n, unread := io.Copy(program, io.LimitReader(out, mostBuilt))
	if n == mostBuilt {
		cmd.Process.Kill()
	}
	err = cmd.Wait()
	unpacked := <-packed
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case n == mostBuilt:
		return fmt.Errorf("the program has more than %s", format.Bytes(mostBuilt))
	case err != nil && (unpacked == nil || errors.Is(unpacked, syscall.EPIPE) || errors.Is(unpacked, fs.ErrClosed)):
		return cmp.Or(said.lines(), err)
	}
	return cmp.Or(unpacked, err, unread)
}

// lastBytes keeps the end of what is written.
type lastBytes struct{ text []byte }

func (l *lastBytes) Write(p []byte) (int, error) {
	if l.text = append(l.text, p...); len(l.text) > 2*mostSpoken {
		l.text = append([]byte(nil), l.text[len(l.text)-mostSpoken:]...)
	}
	return len(p), nil
}

// lines returns an error with the last lines, except those that only name a package or count
// errors; nil if there are none.
func (l *lastBytes) lines() error {
	var kept []string
	for line := range strings.Lines(string(l.text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "# ") && line != "too many errors" {
			kept = append(kept, line)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	text := strings.Join(kept[max(0, len(kept)-saidLines):], " | ")
	if strings.Contains(text, "disabled by GOPROXY=off") {
		text += ` | builds are offline: for a module of kvlab's go.mod, type "go mod download" in kvlab's checkout`
	}
	return errors.New(text)
}
