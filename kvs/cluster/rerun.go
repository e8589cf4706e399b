package cluster

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/manifest"
	"kvlab/plots/compare"
	"kvlab/plots/folder"
)

// rerun repeats the command of another run, and compares the results.
type rerun struct {
	dir    string  // the folder of the first run; "" for no rerun
	times  int     // trials of a point; 0: as many as the first run had, or rerunTrials of a plain run
	margin float64 // a share; 0: defaultMargin
	record metrics.Rerun
}

const (
	rerunTrials   = 6
	defaultMargin = 0.1
)

func (r *rerun) flags(fs *flag.FlagSet) {
	fs.StringVar(&r.dir, "rerun", "", "run the command of the run in this `folder` again, on these nodes and this checkout, and say whether its result is as it was; run-cluster.sh rerun FOLDER is the same (docs/artifact.md)")
	parsed(fs, &r.times, "times", "with --rerun: `number` of trials (default "+strconv.Itoa(rerunTrials)+" of a plain run, else as the run had)", plan.ParseCount)
	parsed(fs, &r.margin, "margin", "with --rerun: the `share` by which a figure may differ and still agree (default 10%)", parseShare)
}

// The flags of a recorded command that name machines or folders. A rerun never takes those of
// foreign. It takes those of where unless the command line itself says where it runs.
var (
	foreign = []string{"nodes", "hosts", "ssh-config", "slurm", "out", "name", "v", "json"}
	where   = []string{"local", "virtual", "link-rate"}
)

// repeated replaces a --rerun command line by the command that the run's folder records. It
// leaves out the recorded flags that name machines and folders, and adds the command line's.
func (l *Launcher) repeated(cfg Config, args []string) (Config, []string, error) {
	r := cfg.Rerun
	fail := func(err error) (Config, []string, error) { return cfg, nil, fmt.Errorf("rerun %s: %w", r.dir, err) }
	begun, isSweep, err := recordOf(r.dir)
	switch {
	case err != nil:
		return fail(err)
	case len(begun.Command) == 0:
		return fail(errors.New("it has no command"))
	case kindOf(begun.Command[1:], l.Extras.Kinds).Once != "":
		return fail(errors.New(kindOf(begun.Command[1:], l.Extras.Kinds).Once))
	case plan.HasFlag(begun.Command, "soak"):
		return fail(errors.New("a soak has no figure to compare"))
	}
	left := slices.Clone(foreign)
	if len(cfg.Nodes) > 0 || cfg.HostsFile != "" || cfg.Local || cfg.Slurm || cfg.Lab.Hosts > 0 {
		left = append(left, where...)
	}
	if changed, _ := manifest.Check(r.dir); len(changed) > 0 {
		fmt.Fprintf(l.Stderr, "rerun of %s, which is not as the launcher left it (kvsplot verify tells more): %s\n", begun.ID, changed[0])
	}
	times := r.times
	switch {
	case cfg.Quick:
		left = append(left, "quick", "secs", "grade", "trials", "until")
		if times == 0 && !kindOf(begun.Command[1:], l.Extras.Kinds).Quick {
			times = 1
		}
	case times > 0:
		left = append(left, "trials", "until")
	case !isSweep:
		times = rerunTrials
	}
	r.record = metrics.Rerun{Of: begun.ID, Command: begun.Command}
	words, _ := asFlags(args, l.Extras.Kinds) // parseArgs has returned its error
	_, given := plan.Part(words, "rerun", "times", "margin")
	if times > 0 {
		given = append(given, "--trials", strconv.Itoa(times))
	}
	r.record.Left, args = plan.Part(folder.Fixed(begun), left...)
	r.record.Given = given
	args = append(args, given...)
	if cfg, err = l.parseArgs(args, io.Discard); err != nil {
		return fail(fmt.Errorf("its command line: %w", err))
	}
	cfg.Rerun = r
	fmt.Fprintf(l.Stderr, "rerun of %s: %s\n", begun.ID, format.CommandLine(commandLine(args)))
	if len(r.record.Left) > 0 {
		fmt.Fprintf(l.Stderr, "left out of its command: %s\n", format.CommandLine(r.record.Left))
	}
	return cfg, args, nil
}

// recordOf reads what the folder of a run or a sweep says of its command.
func recordOf(dir string) (begun metrics.Sweep, isSweep bool, err error) {
	if begun, _, err = metrics.ReadSweep(dir); !errors.Is(err, fs.ErrNotExist) {
		return begun, true, err
	}
	var run metrics.Run
	if err = metrics.ReadJSON(filepath.Join(dir, "run.json"), &run); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("no run is there: it has neither run.json nor %s", metrics.SweepFile)
	}
	return metrics.Sweep{ID: run.ID, Command: run.Command}, false, err
}

// compareRerun compares the result of a --rerun with the first run's, and writes the
// comparison to the folder. The error says that they differ.
func (s *series) compareRerun() (text string, err error) {
	r := s.cfg.Rerun
	if r.dir == "" {
		return "", nil
	}
	found, err := compare.Again(r.dir, string(s.dir), cmp.Or(r.margin, defaultMargin))
	if err != nil {
		return "", fmt.Errorf("rerun %s: %w", r.dir, err)
	}
	found.Of, found.Command, found.Left, found.Given = r.record.Of, r.record.Command, r.record.Left, r.record.Given
	if found.Outcome() == metrics.Differs {
		err = &exitError{fmt.Errorf("the result differs from %s", found.Of), exitInvalid, true}
	}
	return rerunText(found), cmp.Or(s.dir.WriteJSON(metrics.RerunFile, found), err)
}

// rerunText returns a comparison for people, in lines, and an empty one.
func rerunText(r metrics.Rerun) string {
	var b strings.Builder
	if r.Note != "" {
		return fmt.Sprintf("rerun of %s: not compared: %s\n\n", r.Of, r.Note)
	}
	rows := [][]string{{"figure", "before", "now", "outcome"}}
	for _, a := range r.Figures {
		rows = append(rows, []string{format.Label(a.Figure, 40), a.Before, a.Now, string(a.Outcome)})
	}
	b.WriteString(format.Aligned(rows))
	for _, a := range r.Figures {
		fmt.Fprintln(&b, format.Wrap(a.Figure+": "+a.Reason, 0, 2))
	}
	if len(r.Differ) > 0 {
		b.WriteString("what is not as it was, the most telling first:\n")
	}
	for _, fact := range r.Differ {
		fmt.Fprintln(&b, "  "+format.Wrap(fact, 2, 4))
	}
	fmt.Fprintf(&b, "rerun of %s, within %g %%: %s (%s)\n\n", r.Of, 100*r.Margin, r.Outcome(), r.Counts())
	return b.String()
}
