// Package artifact packs a run's folder with the source of its programs, so that others can
// make its figures again, and measure it again, on a machine without a network.
package artifact

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/metrics/manifest"
	"kvlab/plots/compare"
	"kvlab/plots/folder"
)

// The folders and files of an artifact. Scripts name them too.
const (
	dataFolder   = "data"
	sourceFolder = "source"
	drawnFolder  = "figures" // that figures.sh makes
	sumsFile     = "tables.sha256"
)

//go:embed run.sh
var runScript []byte

//go:embed figures.sh
var figuresScript []byte

// artifact is what is packed.
type artifact struct {
	root    string // the checkout
	run     string // the folder of the run
	stage   string // the folder in which the artifact is made
	plan    metrics.Sweep
	runs    []*folder.Run
	figures []compare.Figure
	tree    tree
	notes   []string // what is not in it, and why, for its README

	anonymous bool
	mask      *mask // of an anonymous artifact, once its data is hidden
}

// measurable reports whether the artifact has all that its command needs: the entries of a class
// and a team's own programs are not packed.
func (a *artifact) measurable() bool {
	return a.plan.Class == nil && !slices.ContainsFunc(a.runs, func(r *folder.Run) bool { return r.HostsClient() })
}

// Pack packs the folder of a run, a sweep, a comparison, a curve, a study or a class, which a
// checkout's programs have made, into the file out, a tar archive compressed by gzip. It
// replaces a file of that name. The same folder, commit and versions of Go, GNU tar and gzip give
// the same bytes.
//
// The source comes from the run's commit. If the run was made with changes that were not
// committed, the source is the checkout's tracked files as they are. The checkout must still be
// on that commit. Pack makes the figures and tables once with the packed source, so an artifact whose
// figures cannot be made is an error. said gets a line about what is left out. An anonymous
// artifact names neither machines nor people.
func Pack(root, run, out string, anonymous bool, said io.Writer) (err error) {
	a := artifact{root: root, run: run, anonymous: anonymous}
	if err := a.read(); err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "kvlab-artifact-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	a.stage = filepath.Join(temp, "kvlab-"+filepath.Base(a.plan.ID))
	for _, step := range []func() error{a.copyData, a.addSource, a.hide, a.addRecords, a.makeFigures, a.addReadme, a.checkHidden} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, note := range a.notes {
		fmt.Fprintf(said, "not in the artifact: %s\n", note)
	}
	return a.write(out)
}

// write writes the artifact as a tar archive compressed by gzip, without what figures.sh has
// made, and without what names machine, user or time
// (https://reproducible-builds.org/docs/archives/). It writes the file whole or not at all.
func (a *artifact) write(out string) error {
	out, err := filepath.Abs(out) // tar works elsewhere
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(out), "."+filepath.Base(out)+"-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // unless it has its name
	top := filepath.Base(a.stage)
	_, err = a.command(filepath.Dir(a.stage), nil, "tar", "--create", "--file="+file.Name(), "--force-local", "--use-compress-program=gzip -9n", "--format=gnu", "--sort=name",
		"--mtime=@"+epoch, "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--anchored", "--no-wildcards",
		"--exclude="+filepath.Join(top, drawnFolder), "--exclude="+filepath.Join(top, sourceFolder, "bin"), top)
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), out)
}

// epoch is the time of every file of an archive: 1980, the first that zip and old tools can
// hold.
const epoch = "315532800"

// path returns the path of a file of the artifact before it is packed.
func (a *artifact) path(names ...string) string {
	return filepath.Join(append([]string{a.stage}, names...)...)
}

// read reads the run's folder.
func (a *artifact) read() (err error) {
	if a.runs, err = folder.LoadRuns([]string{a.run}); err != nil {
		return err
	}
	if a.figures, err = compare.Figures(a.run); err != nil {
		return err
	}
	if folder.IsSweep(a.run) {
		a.plan, _, err = metrics.ReadSweep(a.run)
	} else {
		r := a.runs[0]
		a.plan = metrics.Sweep{ID: r.ID, Command: r.Command, GitCommit: r.GitCommit}
	}
	if err != nil {
		return err
	}
	changed, err := manifest.Check(a.run)
	switch {
	case len(a.runs) == 0:
		return fmt.Errorf("%s: no trial has ended: there is nothing to pack", a.run)
	case a.plan.GitCommit == "":
		return fmt.Errorf("%s has no git commit: it was made outside of a git checkout, whose source is unknown", a.run)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s has no %s: the launcher did not come to its end", a.run, metrics.ManifestFile)
	case err != nil:
		return err
	case len(changed) > 0:
		return fmt.Errorf("%s is not as the launcher left it (kvsplot verify tells more): %s", a.run, changed[0])
	}
	return nil
}

// copyData copies the run's folder without what figures.sh makes again, and without trials
// that were interrupted.
func (a *artifact) copyData() error {
	root, err := filepath.EvalSymlinks(a.run) // logs/latest is a link
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		to := a.path(dataFolder, name)
		switch {
		case entry.IsDir() && strings.Contains(entry.Name(), "-cut") && strings.HasPrefix(entry.Name(), "trial-"):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(to, 0o755)
		case !entry.Type().IsRegular():
			a.notes = append(a.notes, fmt.Sprintf("%q of the run's folder, which is no regular file", name))
			return nil
		case manifest.IsDrawn(entry.Name()): // figures.sh makes it again
			return nil
		}
		return copyFile(to, path)
	})
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, text, 0o644))
}

// addRecords adds the scripts, the machines, the commit and the programs' digests.
func (a *artifact) addRecords() error {
	shown := a.runs[max(0, slices.IndexFunc(a.runs, func(r *folder.Run) bool { return r.Verdict.Stands() }))]
	var machines []metrics.Machine
	if shown.Preflight != nil {
		machines = shown.Preflight.Machines
	}
	hosts, err := json.MarshalIndent(machines, "", "  ")
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"figures.sh": figuresScript, "host.json": append(hosts, '\n'), "commit.txt": []byte(a.plan.GitCommit + "\n"), "programs.sha256": []byte(a.sums(shown)),
	}
	if a.measurable() {
		files["run.sh"] = runScript
	}
	if len(a.tree.diff) > 0 {
		files["diff.patch"] = a.tree.diff
	}
	for name, text := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(a.path(name), text, mode); err != nil {
			return err
		}
	}
	return a.addLicences()
}

// addLicences adds the licences of the source.
func (a *artifact) addLicences() (err error) {
	licences, _ := filepath.Glob(a.path(sourceFolder, "LICENSE*")) // the pattern is right
	for _, path := range licences {
		err = errors.Join(err, copyFile(a.path(filepath.Base(path)), path))
	}
	if len(licences) == 0 {
		a.notes = append(a.notes, "a licence: the repository has no LICENSE")
	}
	return err
}

// sums returns the digests of the run's programs, as sha256sum writes them.
func (a *artifact) sums(shown *folder.Run) (text string) {
	for _, role := range []metrics.Role{metrics.Client, metrics.Server} {
		sum := a.plan.Programs[role]
		if config := shown.Config(role); config != nil {
			sum = cmp.Or(config.Binary, sum)
		}
		if sum != "" {
			text += fmt.Sprintf("%s  kvs%s\n", sum, role)
		}
	}
	return text
}

// makeFigures runs figures.sh, as a reader of the artifact would, and keeps the digests of the
// tables.
func (a *artifact) makeFigures() error {
	if _, err := a.command(a.stage, nil, a.path("figures.sh")); err != nil {
		return fmt.Errorf("with the source of %s: %w", a.plan.GitCommit, err)
	}
	sums, err := a.command(a.path(drawnFolder, "tables"), nil, "sh", "-c", "sha256sum *.csv")
	if err != nil {
		return err
	}
	return os.WriteFile(a.path(sumsFile), sums, 0o644)
}

// command runs a command in a folder, and returns its output. It finds Go where
// run-cluster.sh does, too.
func (a *artifact) command(dir string, stdin []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/local/go/bin"), bytes.NewReader(stdin)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err, strings.TrimSpace(said.String()))
	}
	return out, err
}
