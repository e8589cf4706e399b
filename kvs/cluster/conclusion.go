package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
	"kvlab/plots"
)

// conclude prints what came out, the verdict last, and returns the error that
// the exit status is made of.
func (l *Launcher) conclude(c *conductor, dir folder, run metrics.Run, ended error) error {
	var f *fault
	if errors.As(ended, &f) && f.kind == badArgs {
		return &UsageError{fmt.Errorf("%s (%s): %s", programName(f.role), f.node, f.reason)}
	}
	if ended != nil {
		c.explain(l, ended)
	}
	if run.Verdict.Valid || run.Verdict == ceiling {
		fmt.Fprintf(l.Stdout, "%s\n%s\n", c.labLines(run), plots.Summary(run))
	}
	fmt.Fprintf(l.Stdout, "logs %s\n", dir)
	fmt.Fprintf(l.Stdout, "verdict %s\n", run.Verdict)
	if run.Verdict.Valid {
		return nil
	}
	return &InvalidError{Verdict: run.Verdict, Err: ended}
}

// explain prints every fault, and the end of the log of the node that the
// verdict names.
func (c *conductor) explain(l *Launcher, ended error) {
	if errors.Is(ended, errInterrupted) {
		return
	}
	fmt.Fprintln(l.Stderr, ended)
	node := verdictOf(ended).Node
	for _, m := range c.members {
		if m.Name != node {
			continue
		}
		if lines := m.log.last(); len(lines) > 0 {
			fmt.Fprintf(l.Stderr, "--- last lines of %s-%s.log:\n%s\n---\n", m.Program(), m.Name, strings.Join(lines, "\n"))
		}
	}
}

// labLines are the labs' lines: each server's median, and the total. The
// median is that of the server's own seconds in the window; the total is the
// run's result, the clients' verified operations. A ceiling is not called total,
// so that nobody's script takes it for one.
func (c *conductor) labLines(run metrics.Run) string {
	var b strings.Builder
	for _, m := range c.of(metrics.Server) {
		if len(m.rates) == 0 {
			fmt.Fprintf(&b, "%s no ops/s data found\n", m.Name)
			continue
		}
		fmt.Fprintf(&b, "%s median %.0f op/s\n", m.Name, median(m.rates))
	}
	word := "total"
	if run.Verdict == ceiling {
		word = "ceiling"
	}
	fmt.Fprintf(&b, "\n%s %.0f op/s\n", word, run.OpsPerS)
	return b.String()
}

// median is the middle value, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// writeLatency writes latency.hlog.
func (f folder) writeLatency(records []metrics.Record) error {
	var b bytes.Buffer
	if err := metrics.WriteLatencyLog(&b, records); err != nil {
		return err
	}
	return f.write("latency.hlog", b.Bytes())
}
