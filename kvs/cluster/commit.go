package cluster

import (
	"context"
	"os/exec"
	"strings"
	"time"
)

// gitTimeout bounds a question to git.
const gitTimeout = 10 * time.Second

// commitOf is the git commit of the checkout at root, with a mark when files that
// git knows differ from it; "" where git or the repository is missing. The checkout
// may be somebody else's: no program that its configuration names is started.
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
