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
	"kvlab/kvs/verdict/answer"
	"kvlab/metrics"
	"kvlab/metrics/format"
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
	if run.Verdict.Valid {
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
	return cmp.Or(finish(l.Stdout, text+checks, a, dir, run.Verdict, ended), failed)
}

// finish prints a result, its answer and its verdict, and returns the error behind the
// exit status.
func finish(w io.Writer, result string, a answer.Answer, dir trial.Folder, verdict metrics.Verdict, ended error) error {
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
	if len(cfg.FailIf) == 0 || !judged.Valid {
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
		if server.MedianOpsPerS == nil || run.Counting == metrics.CountsNone {
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

// printAnswer prints a result in about eight lines of 80 characters: the figures, what was
// checked, what limits and what weakens them, where the rest is, and what to do next. A result
// that is not good has at most mostLines with the verdict. The verdict has the whole reason.
func printAnswer(w io.Writer, a answer.Answer, dir trial.Folder) {
	p := painterOf(w)
	var rest strings.Builder
	line := func(name, colour, text string) {
		if text = format.Wrap(text, answerIndent, answerIndent); !a.Good && (name == "checked" || name == "limit") {
			text = firstLines(text, 1)
		}
		if text != "" {
			fmt.Fprintf(&rest, "%s%s%s\n", p.paint(colour, name), strings.Repeat(" ", answerIndent-len(name)), text)
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
	for _, r := range a.Caveats {
		line("caveat", yellow, r.String())
	}
	report, where := string(dir), "logs"
	if name := folder.Page(string(dir)); name != "" {
		report, where = dir.Path(name), "report"
	}
	line(where, bold, report)
	line("next", bold, a.Next)
	if a.Verdict != "" {
		colour, head := red, a.Verdict+": "+a.Headline
		if a.Good {
			colour, head = green, strings.Join(format.NonEmpty(head, a.Basis), ", ")
		}
		if head = format.Wrap(head, 0, 2); !a.Good {
			head = firstLines(head, max(1, mostLines-1-strings.Count(rest.String(), "\n")))
		}
		fmt.Fprintln(w, p.paint(colour, a.Verdict)+strings.TrimPrefix(head, a.Verdict))
	}
	fmt.Fprint(w, rest.String())
}

// firstLines cuts a text after some lines.
func firstLines(text string, most int) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= most {
		return text
	}
	return strings.Join(lines[:most], "\n") + " …"
}

// mostLines is the largest number of lines of an INVALID result on a terminal.
const mostLines = 6

// answerIndent is the column at which an answer's sentences begin.
const answerIndent = 9

// The colours of text, as parameters of SGR (ECMA-48, 8.3.117). Every palette has them. They
// say nothing that the words do not.
const (
	bold   = "1"
	green  = "1;32"
	red    = "1;31"
	yellow = "33"
)

// painter colours text, or returns it as it is.
type painter bool

// painterOf returns the painter for an output: it colours text on a terminal, unless
// NO_COLOR is set (https://no-color.org).
func painterOf(w io.Writer) painter {
	return painter(format.Width(w) > 0 && os.Getenv("NO_COLOR") == "")
}

func (p painter) paint(colour, text string) string {
	if !p || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
