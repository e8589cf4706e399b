package remote

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"kvlab/kvs/cluster/nodes"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/target"
)

// Builds holds the programs of other commits and of targets, in one temporary folder that
// Remove removes. The nodes keep them by the hash of their content, as all programs. The zero
// value is empty.
type Builds struct {
	dir    string
	lock   *os.File                 // of dir, as long as the launcher lives
	ready  map[string]plan.Programs // by commit
	stores map[string]string        // the paths of stores, by what built them

	commits map[string]string // the commits of the checkouts among these
}

// Programs builds the node programs of a revision of the checkout at root, with the
// flags of run-cluster.sh, and returns the revision's commit and the paths. Builds with
// the same Go are identical.
func (b *Builds) Programs(ctx context.Context, root, rev string) (commit string, paths plan.Programs, err error) {
	commit, err = Git(ctx, root, "rev-parse", "--verify", "--quiet", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return "", nil, fmt.Errorf("no such commit in %s", root)
	}
	if paths, ok := b.ready[commit]; ok {
		return commit, paths, nil
	}
	if err := b.open(); err != nil {
		return "", nil, err
	}
	dir := filepath.Join(b.dir, commit)
	// A clone that shares the objects leaves the checkout as it is, and the programs
	// carry the commit.
	source := filepath.Join(dir, "source")
	if _, err = Git(ctx, root, "clone", "--quiet", "--shared", "--no-checkout", root, source); err == nil {
		_, err = Git(ctx, source, "checkout", "--quiet", "--detach", commit)
	}
	bin := filepath.Join(dir, "bin")
	if err == nil {
		err = buildNodes(ctx, source, bin, "./cmd/kvsserver", "./cmd/kvsclient")
	}
	if err != nil {
		return "", nil, err
	}
	b.ready[commit] = plan.ProgramsIn(bin)
	return commit, b.ready[commit], os.RemoveAll(source)
}

// Rivals builds the node programs of extra/rivals from the checkout at root, where they
// stay, and returns the paths.
func Rivals(ctx context.Context, root string) (plan.Programs, error) {
	bin := filepath.Join(root, "bin", "rivals")
	args := []string{"./kvsserver", "./kvsclient"}
	if commit, _ := Commit(ctx, root); commit == "" { // git refuses to tell Go, too
		args = append([]string{"-buildvcs=false"}, args...)
	}
	return plan.ProgramsIn(bin), buildNodes(ctx, filepath.Join(root, "extra", "rivals"), bin, args...)
}

// folderName begins the names of the folders.
const folderName = "kvlab-builds-"

// open makes the folder, if there is none, and removes the folders of launchers that were
// killed.
func (b *Builds) open() (err error) {
	if b.dir != "" {
		return nil
	}
	removeStale()
	if b.dir, err = os.MkdirTemp("", folderName); err == nil {
		b.lock, err = lockFolder(b.dir)
	}
	b.ready, b.stores, b.commits = make(map[string]plan.Programs), make(map[string]string), make(map[string]string)
	return err
}

// removeStale removes the folders that are older than a day and that no launcher locks.
// Folders of other users stay.
func removeStale() {
	all, _ := filepath.Glob(filepath.Join(os.TempDir(), folderName+"*")) // the pattern is well formed
	for _, dir := range all {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || time.Since(info.ModTime()) < 24*time.Hour {
			continue
		}
		if lock, err := lockFolder(dir); err == nil {
			_ = os.RemoveAll(dir) // a failure leaves only an old folder
			lock.Close()
		}
	}
}

// lockFolder locks a folder until the file is closed or this process ends. It fails if
// another process has locked it.
func lockFolder(dir string) (*os.File, error) {
	lock, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return lock, nil
}

// Store builds a target's program, once, and returns its path. A contained build has a copy of
// the program's folder.
func (b *Builds) Store(ctx context.Context, t target.Target, s Submitted) (path string, err error) {
	key := t.Dir + "\n" + t.Build + "\n" + s.limits()
	if path, ok := b.stores[key]; ok {
		return path, nil
	}
	if err := b.open(); err != nil {
		return "", err
	}
	path = filepath.Join(b.dir, fmt.Sprintf("store-%d", len(b.stores)))
	if s.Contain == nil {
		var words []string
		if words, err = t.BuildCommand(path); err != nil {
			return "", err
		}
		ctx, cancel := withinLimit(ctx)
		defer cancel()
		var said lastBytes
		cmd := buildCommand(ctx, words)
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = t.Dir, &said, &said, nodes.LeaveDelay
		if err = cmd.Run(); ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if err != nil {
			err = cmp.Or(said.lines(), err)
		}
	} else {
		err = s.build(ctx, t.Dir, path, t.BuildCommand)
	}
	if err != nil {
		return "", fmt.Errorf("build %s: %w", t.Name, err)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("build %s: %q has made no program {bin}", t.Name, t.Build)
	}
	b.stores[key] = path
	return path, nil
}

// Remove removes all programs.
func (b *Builds) Remove() error {
	defer b.lock.Close() // without a folder, it does nothing
	return os.RemoveAll(b.dir)
}

// gitTimeout limits the git commands of Commit.
const gitTimeout = 10 * time.Second

// Commit returns the git commit of the checkout at root, with a mark if tracked files
// differ from it, and their names; "" without git or a repository.
func Commit(ctx context.Context, root string) (commit string, changed []string) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	head, err := Git(ctx, root, "rev-parse", "HEAD")
	if err != nil {
		return "", nil
	}
	names, err := Git(ctx, root, "diff", "--name-only", "--no-ext-diff", "--ignore-submodules=all", "HEAD")
	if err != nil {
		return head + "-dirty", nil
	}
	if names != "" {
		return head + "-dirty", strings.Split(names, "\n")
	}
	return head, nil
}

// Git runs git in a folder and returns its output. The error is git's last line. The
// checkout may belong to another user: Git starts no file monitor that its configuration
// names.
func Git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := nodes.Output(exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false"}, args...)...))
	return strings.TrimSpace(out), err
}

// buildNodes builds the packages of a source tree's module into bin, with the Go of
// run-cluster.sh, or else of PATH.
func buildNodes(ctx context.Context, source, bin string, packages ...string) error {
	cmd := exec.CommandContext(ctx, cmp.Or(os.Getenv("KVLAB_GO"), "go"), append([]string{"build", "-trimpath", "-o", bin + "/"}, packages...)...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOTOOLCHAIN="+cmp.Or(os.Getenv("GOTOOLCHAIN"), "auto"))
	if _, err := nodes.Output(cmd); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}
