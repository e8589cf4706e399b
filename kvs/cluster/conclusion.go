package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/plots"
)

// conclude prints the result of a run of one trial, the verdict last.
func conclude(w io.Writer, cfg Config, dir trial.Folder, run metrics.Run, ended error) error {
	var f *plan.Fault
	if errors.As(ended, &f) && f.Kind == plan.BadArgs {
		return usage(fmt.Errorf("%s (%s): %s", plan.Program(f.Role), f.Node, f.Reason))
	}
	text := ""
	if run.Verdict.Valid || run.Verdict == verdict.Ceiling {
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
	return finish(w, text, verdict.AnswerOf(run), dir, run.Verdict, ended)
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
		fmt.Fprintf(l.progress, "no pictures: %v\n", err)
	}
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
	if run.Verdict == verdict.Ceiling {
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
		colour, head := red, strings.Join(format.NonEmpty(a.Verdict+": "+a.Headline, a.Basis), ", ")
		if a.Good {
			colour = green
		}
		fmt.Fprintln(w, p.paint(colour, a.Verdict)+strings.TrimPrefix(wrap(head, 0, 2), a.Verdict))
	}
	line := func(name, colour, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s%s%s\n", p.paint(colour, name), strings.Repeat(" ", answerIndent-len(name)), wrap(text, answerIndent, answerIndent))
		}
	}
	line("rate", bold, a.Rate)
	line("latency", bold, a.Latency)
	line("checked", bold, a.Checked)
	line("limit", bold, a.Limit)
	for _, r := range a.Reservations {
		line("but", yellow, r.String())
	}
	report, where := dir.Path("report.html"), "report"
	if _, err := os.Stat(report); err != nil {
		report, where = string(dir), "logs"
	}
	line(where, bold, report)
	line("next", bold, a.Next)
}

// answerIndent is the column in which an answer's sentences begin.
const answerIndent = 9
