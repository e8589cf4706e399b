package command

import (
	"cmp"
	"fmt"
	"strings"

	"kvlab/plots"
)

// What kvsplot draws without a command, of one folder and of several.
const (
	oneUsage = `One run folder: its figures (PNG, PDF) and report.html go into the folder
itself, or into DIR, and its table is printed.
A sweep's folder (of --sweep or --trials): the figures and the report of all its
trials. The sweep need not have ended.
`
	manyUsage = `Several runs: only throughput_scaling, throughput against the number of nodes, or
scaling_FLAG for a flag in which the runs differ, go into the current folder, or into
DIR. Runs of different commits, work or class are lines of their own. A run that is
not valid is never a point. Standard error says so.
For a paper (--width 3.33in): figures alone, without titles, ids and failures, go into
the current folder, or into DIR; latency_cdf is one of them. docs/paper.md tells more.
`
)

// Curves draws the curves of several systems in one figure.
var Curves = Command{
	Name:     "curves",
	Synopsis: []string{"[-out DIR] curves [--overlay] A B [more]"},
	Usage: `curves: draws latency against throughput of several systems in one figure, and prints
their tables. A and B are folders of --curve or --slo, of the same workload, records and
value size; with --overlay, of any. Each is named by the settings in which they differ.
`,
	Answers: true,
	Run: func(c *Call) error {
		out, look := outFlag(c), lookFlags(c)
		overlay := c.Flags.Bool("overlay", false, "of curves: draw those of different work in one figure")
		dirs, err := c.Words()
		if err != nil {
			return err
		}
		return c.draw(func(dirs ...string) (plots.Drawing, error) { return plots.LoadCurves(*overlay, dirs...) }, dirs, *out, look)
	},
}

// outFlag adds the flag that names the folder of figures.
func outFlag(c *Call) *string {
	return c.Flags.String("out", "", "write into this `folder`; it is made when missing")
}

// draw draws what load makes of folders into the folder out, or the current one, and prints
// the files' names and the summary.
func (c *Call) draw(load func(dirs ...string) (plots.Drawing, error), dirs []string, out string, look *lookOf) error {
	l, err := look.parsed()
	if err != nil {
		return UsageError{err}
	}
	c.warn(dirs)
	d, err := load(dirs...)
	if err == nil {
		d, err = d.With(l)
	}
	for _, note := range d.Notes {
		fmt.Fprintf(c.Stderr, "kvsplot: %s\n", note)
	}
	if err != nil {
		return UsageError{err}
	}
	files, err := d.Write(cmp.Or(out, "."))
	for _, file := range files {
		fmt.Fprintln(c.Stdout, file)
	}
	c.Document.Say(strings.Join(files, "\n"))
	if err == nil && d.Summary != "" {
		fmt.Fprintf(c.Stdout, "\n%s", d.Summary)
		c.Document.Say(d.Summary)
	}
	return err
}
