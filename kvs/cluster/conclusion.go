package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/plots/compare"
	"kvlab/plots/folder"
	"kvlab/plots/report"
)

// conclude prints the result of a run of one trial, the verdict last.
func (l *Launcher) conclude(cfg Config, dir trial.Folder, run metrics.Run, ended error) error {
	var f *plan.Fault
	if errors.As(ended, &f) && f.Kind == plan.BadArgs {
		return usage(fmt.Errorf("%s (%s): %s", plan.Program(f.Role), f.Node, f.Reason))
	}
	text := ""
	if run.Verdict.Stands() {
		text = labLines(run) + "\n"
		if cfg.Verbose {
			text += report.RunSummary(run) + "\n"
		}
	}
	if cfg.Verbose {
		text += soakText(run)
		if run.Check != nil { // what all clients recorded together
			text += run.Check.Text() + "\n\n"
		}
		if run.Audit != nil {
			text += run.Audit.Text() + "\n\n"
		}
	}
	if cfg.Grade != nil {
		text += fmt.Sprintf("%s\n\n", cfg.Grade.GradeRun(run))
	}
	checks, failed := l.check(cfg, dir, run.Verdict)
	a, own := answer.Of(run), "store-"+run.Verdict.Node+".log"
	if _, err := os.Stat(dir.Path(own)); err == nil { // a foreign store has a log of its own
		a.Next = strings.Replace(a.Next, "kvsserver-"+run.Verdict.Node+".log", own, 1)
	}
	return cmp.Or(l.finish(text+checks, a, dir, run.Verdict, ended), failed)
}

// finish prints a result, its answer and its verdict, and returns the error behind the
// exit status.
func (l *Launcher) finish(result string, a answer.Answer, dir trial.Folder, verdict metrics.Verdict, ended error) error {
	l.document.Conclude(string(dir), a, verdict, result)
	fmt.Fprint(l.Stdout, result)
	a.Print(l.Stdout, string(dir), folder.Page(string(dir)))
	fmt.Fprintf(l.Stdout, "verdict %s\n", verdict)
	if verdict.Stands() {
		return nil
	}
	return invalid(verdict, ended)
}

// picture draws a folder's figures and report. A failure is only reported: the
// measurement stands without figures.
func (l *Launcher) picture(dir trial.Folder) {
	if _, err := l.Draw(string(dir)); err != nil {
		fmt.Fprintf(l.progress, "not everything is drawn: %v\n", err)
	}
}

// list renews the page of all runs beside a run's folder.
func (l *Launcher) list(dir trial.Folder) {
	if l.List == nil {
		return
	}
	if err := l.List(filepath.Dir(string(dir))); err != nil {
		fmt.Fprintf(l.progress, "no list of runs: %v\n", err)
	}
}

// findBaseline returns the baseline that a command line names; nil for none, and where
// nothing is measured.
func findBaseline(cfg Config) (*compare.Baseline, error) {
	if cfg.Baseline == "" || cfg.DryRun || cfg.Preflight {
		return nil, nil
	}
	b, err := compare.FindBaseline(cfg.Out, cfg.Baseline, filepath.Base(cfg.Trials.Resume))
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	return b, nil
}

// check holds a VALID result against the limits, if there are any: against the baseline, or
// alone. The text has a line for each. The error, which needs no further words, says that a
// limit was not shown to be kept.
func (l *Launcher) check(cfg Config, dir trial.Folder, judged metrics.Verdict) (text string, err error) {
	if len(cfg.FailIf) == 0 || !judged.Stands() {
		return "", nil
	}
	lines, kept, err := compare.Keep(string(dir), cfg.FailIf)
	if l.baseline != nil && err == nil {
		relative, all, failed := l.baseline.Check(string(dir), cfg.FailIf)
		lines, kept, err = append(lines, relative...), kept && all, failed
	}
	switch {
	case err != nil:
		lines = []string{fmt.Sprintf("no check: %v", err)}
	case !kept:
		err = errors.New("a limit of --fail-if was not shown to be kept")
	}
	if err != nil {
		err = &exitError{err, exitInvalid, true}
	}
	return strings.Join(lines, "\n") + "\n\n", err
}

// invalid returns the error of a run whose verdict is INVALID. The verdict has been printed.
func invalid(verdict metrics.Verdict, ended error) error {
	return &exitError{cmp.Or(ended, errors.New("verdict "+verdict.String())), exitInvalid, true}
}

// labLines returns the labs' lines: the median of each server's seconds in the window, and
// the total of the clients' verified operations.
func labLines(run metrics.Run) string {
	var b strings.Builder
	for _, server := range run.Servers() {
		if server.MedianOpsPerS == nil || run.Counting == metrics.CountsNone && !run.IsClaimed() {
			fmt.Fprintf(&b, "%s no ops/s data found\n", server.Name)
		} else {
			fmt.Fprintf(&b, "%s median %.0f op/s\n", server.Name, *server.MedianOpsPerS)
		}
	}
	fmt.Fprintf(&b, "\ntotal %.0f op/s\n", run.OpsPerS)
	return b.String()
}

// soakText returns a line for each process of a soak, and an empty one after them.
func soakText(run metrics.Run) string {
	var b strings.Builder
	for _, node := range run.Nodes {
		if node.Soak != nil {
			fmt.Fprintf(&b, "soak %s %s: %s\n", node.Role, node.Name, node.Soak)
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}
