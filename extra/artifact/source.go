package artifact

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kvlab/metrics"
)

// tree is the source of a run's programs.
type tree struct {
	id   string // git's, of a commit or a tree
	diff []byte // against the run's commit; nil if nothing was changed
}

// addSource adds the source of the run's programs, with the modules that it needs.
func (a *artifact) addSource() (err error) {
	if a.tree, err = a.find(); err != nil {
		return err
	}
	archive, err := a.git("archive", "--format=tar", a.tree.id)
	if err == nil {
		err = os.Mkdir(a.path(sourceFolder), 0o755)
	}
	if err == nil {
		_, err = a.command(a.path(sourceFolder), archive, "tar", "-xf", "-")
	}
	if err != nil {
		return fmt.Errorf("source of the run: %w", err)
	}
	if err := a.addNamed(); err != nil {
		return err
	}
	_, err = a.command(a.path(sourceFolder), nil, "env", "GOFLAGS=", "GOWORK=off", "go", "mod", "vendor")
	return err
}

// find finds the source of the run's commit in the checkout.
func (a *artifact) find() (t tree, err error) {
	recorded, dirty := strings.CutSuffix(a.plan.GitCommit, "-dirty")
	text, err := a.git("rev-parse", "--verify", "--quiet", "--end-of-options", recorded+"^{commit}")
	if err != nil {
		return t, fmt.Errorf("the run's commit %s is not in %s: pack it in the checkout in which it was made", recorded, a.root)
	}
	commit := string(text)
	a.noteOtherSources()
	if !dirty {
		return tree{id: commit}, nil
	}
	head, err := a.git("rev-parse", "HEAD")
	if err != nil {
		return t, err
	}
	if string(head) != commit {
		return t, fmt.Errorf("the run was made on commit %s with changes that were not committed, and the checkout is on %s: "+
			"what ran is not known any more; commit first, and measure again", recorded, head)
	}
	now, err := a.git("-c", "user.name=kvlab", "-c", "user.email=kvlab@localhost", "stash", "create") // a commit that nothing refers to
	if err != nil {
		return t, err
	}
	if len(now) == 0 {
		return t, fmt.Errorf("the run was made on commit %s with changes that were not committed, and the checkout has none now: commit first, and measure again", recorded)
	}
	a.compareProgram()
	t.id = string(now) + "^{tree}"
	t.diff, err = a.git("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", commit, string(now))
	t.diff = append(t.diff, '\n')
	return t, err
}

// compareProgram notes that changes which were not committed may not be those of the run: the
// server's program in the checkout is another one than the run's.
func (a *artifact) compareProgram() {
	program, err := os.ReadFile(filepath.Join(a.root, "bin", "kvsserver"))
	sums := a.sums(a.runs[0])
	if err != nil || !strings.Contains(sums, fmt.Sprintf("%x  kvsserver", sha256.Sum256(program))) {
		a.notes = append(a.notes, "a proof that diff.patch is what ran: it is the checkout's when it was packed, and bin/kvsserver there is not the run's program")
	}
}

// noteOtherSources notes the commits that the run's command builds besides its own.
func (a *artifact) noteOtherSources() {
	args := []string{}
	for _, v := range a.plan.Variants {
		args = append(args, v.Args)
	}
	if a.plan.Study != nil {
		for _, p := range a.plan.Study.Points {
			args = append(args, p.Args)
		}
	}
	for _, text := range args {
		if from := metrics.SourceOf(strings.Fields(text)); from.Kind != "" {
			a.notes = append(a.notes, fmt.Sprintf("the source of %s%s: run.sh needs it, so measure it again in a clone of the repository: ./run-cluster.sh rerun DATA", from.Kind, from.Rev))
		}
	}
}

// addNamed adds the checkout's files that the run's command names and the commit lacks, such
// as a study or a target of one's own.
func (a *artifact) addNamed() error {
	for _, arg := range a.plan.Command {
		parts := strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" =,'\"", r) })
		for _, name := range append([]string{arg}, parts...) {
			if !filepath.IsLocal(name) || strings.HasPrefix(filepath.Clean(name), ".git") {
				continue
			}
			from, to := filepath.Join(a.root, name), a.path(sourceFolder, name)
			if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() {
				continue
			}
			if _, err := os.Lstat(to); err == nil {
				continue
			}
			if err := copyFile(to, from); err != nil {
				return err
			}
		}
	}
	return nil
}

// git runs git in the checkout and returns its output. A file monitor that the checkout's
// configuration names is not started.
func (a *artifact) git(args ...string) ([]byte, error) {
	out, err := a.command(a.root, nil, "git", append([]string{"-c", "core.fsmonitor=false"}, args...)...)
	return bytes.TrimRight(out, "\n"), err
}
