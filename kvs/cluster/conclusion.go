package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/trial"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/plots"
	"kvlab/plots/compare"
)

// conclude prints the result of a run of one trial, the verdict last.
func conclude(w io.Writer, scale compare.Scale, dir trial.Folder, run metrics.Run, ended error) error {
	var f *plan.Fault
	if errors.As(ended, &f) && f.Kind == plan.BadArgs {
		return usage(fmt.Errorf("%s (%s): %s", plan.Program(f.Role), f.Node, f.Reason))
	}
	text := ""
	if run.Verdict.Valid || run.Verdict == verdict.Ceiling {
		text = fmt.Sprintf("%s\n%s\n", labLines(run), plots.Summary(run))
	}
	if run.Check != nil { // what all clients recorded together
		text += run.Check.Text() + "\n\n"
	}
	text += soakText(run)
	if scale != nil {
		text += fmt.Sprintf("%s\n\n", scale.GradeRun(run))
	}
	return finish(w, text, dir, run.Verdict, ended)
}

// finish prints a result, its folder and its verdict, and returns the error behind the
// exit status.
func finish(w io.Writer, result string, dir trial.Folder, verdict metrics.Verdict, ended error) error {
	fmt.Fprintf(w, "%slogs %s\nverdict %s\n", result, dir, verdict)
	if verdict.Valid {
		return nil
	}
	return invalid(verdict, ended)
}

// picture draws a folder's figures and report. A failure is only reported: the
// measurement stands without figures.
func (l *Launcher) picture(dir trial.Folder) {
	if _, err := l.draw(string(dir)); err != nil {
		fmt.Fprintf(l.Stderr, "no pictures: %v\n", err)
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
		if server.MedianOpsPerS == nil {
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
