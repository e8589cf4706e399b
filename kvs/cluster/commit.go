package cluster

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// gitTimeout limits a git command.
const gitTimeout = 10 * time.Second

// commitOf returns the git commit of the checkout at root, with a mark if tracked files
// differ from it; "" without git or a repository. The checkout may belong to another
// user: commitOf starts no program that its configuration names.
func commitOf(ctx context.Context, root string) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root, "-c", "core.fsmonitor=false"}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	head, err := git("rev-parse", "HEAD")
	if err != nil {
		return ""
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"); err != nil || changed != "" {
		return head + "-dirty"
	}
	return head
}
