package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots"
	"kvlab/plots/compare"
	"kvlab/plots/index"
)

// conclude prints the result of a run of one trial, the verdict last.
func (l *Launcher) conclude(cfg Config, dir trial.Folder, run metrics.Run, ended error) error {
	var f *plan.Fault
	if errors.As(ended, &f) && f.Kind == plan.BadArgs {
		return usage(fmt.Errorf("%s (%s): %s", plan.Program(f.Role), f.Node, f.Reason))
	}
	text := ""
	if run.Verdict.Valid || run.Verdict.Check == verdict.Ceiling {
		text = labLines(run) + "\n"
		if cfg.Verbose {
			text += plots.Summary(run) + "\n"
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
	return cmp.Or(finish(l.Stdout, text+checks, verdict.AnswerOf(run), dir, run.Verdict, ended), failed)
}

// finish prints a result, its answer and its verdict, and returns the error behind the
// exit status.
func finish(w io.Writer, result string, a verdict.Answer, dir trial.Folder, verdict metrics.Verdict, ended error) error {
	fmt.Fprint(w, result)
	printAnswer(w, a, dir)
	fmt.Fprintf(w, "verdict %s\n", verdict)
	if verdict.Valid {
		return nil
	}
	return invalid(verdict, ended)
}

// picture draws a folder's figures and report. A failure is only reported: the
// measurement stands without figures.
func (l *Launcher) picture(dir trial.Folder) {
	if _, err := l.draw(string(dir)); err != nil {
		fmt.Fprintf(l.progress, "not everything is drawn: %v\n", err)
	}
}

// list renews the page of all runs beside a run's folder.
func (l *Launcher) list(dir trial.Folder) {
	if err := index.Write(filepath.Dir(string(dir))); err != nil {
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

// check compares a VALID result with the baseline, if there is one. The text has a line for
// each limit. The error, which needs no further words, says that a limit was not shown to be
// kept.
func (l *Launcher) check(cfg Config, dir trial.Folder, judged metrics.Verdict) (text string, err error) {
	if l.baseline == nil || !judged.Valid {
		return "", nil
	}
	lines, kept, err := l.baseline.Check(string(dir), cfg.FailIf)
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

// invalid is the error of a run whose verdict is INVALID. The verdict has been printed.
func invalid(verdict metrics.Verdict, ended error) error {
	return &exitError{cmp.Or(ended, errors.New("verdict "+verdict.String())), exitInvalid, true}
}

// labLines are the labs' lines: the median of each server's seconds in the window, and
// the total of the clients' verified operations. A ceiling is not called total, so that
// no script takes it for one.
func labLines(run metrics.Run) string {
	var b strings.Builder
	for _, server := range run.Servers() {
		if server.MedianOpsPerS == nil || run.Counting == metrics.CountsNone {
			fmt.Fprintf(&b, "%s no ops/s data found\n", server.Name)
		} else {
			fmt.Fprintf(&b, "%s median %.0f op/s\n", server.Name, *server.MedianOpsPerS)
		}
	}
	word := "total"
	if run.Verdict.Check == verdict.Ceiling {
		word = "ceiling"
	}
	fmt.Fprintf(&b, "\n%s %.0f op/s\n", word, run.OpsPerS)
	return b.String()
}

// soakText is a line for each process of a soak, and an empty one after them.
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

// printAnswer prints a result in some eight lines of 80 characters: what it is, what was
// checked, what limits and what weakens it, where the rest is, and what to do next.
func printAnswer(w io.Writer, a verdict.Answer, dir trial.Folder) {
	p := painterOf(w)
	if a.Verdict != "" {
		colour, head := red, a.Verdict+": "+a.Headline
		if a.Good {
			colour, head = green, strings.Join(format.NonEmpty(head, a.Basis), ", ")
		}
		fmt.Fprintln(w, p.paint(colour, a.Verdict)+strings.TrimPrefix(format.Wrap(head, 0, 2), a.Verdict))
	}
	line := func(name, colour, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s%s%s\n", p.paint(colour, name), strings.Repeat(" ", answerIndent-len(name)), format.Wrap(text, answerIndent, answerIndent))
		}
	}
	if !a.Good {
		line("rate", bold, a.Basis)
	}
	line("rate", bold, a.Rate)
	line("latency", bold, a.Latency)
	line("bytes", bold, a.Bytes)
	line("restart", bold, a.Restart)
	line("checked", bold, a.Checked)
	line("limit", bold, a.Limit)
	for _, r := range a.Reservations {
		line("but", yellow, r.String())
	}
	report, where := string(dir), "logs"
	for _, name := range index.Pages {
		if _, err := os.Stat(dir.Path(name)); err == nil {
			report, where = dir.Path(name), "report"
		}
	}
	line(where, bold, report)
	line("next", bold, a.Next)
}

// answerIndent is the column in which an answer's sentences begin.
const answerIndent = 9
