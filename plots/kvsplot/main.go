// Command kvsplot draws run folders: the figures and the report of one, or of one
// sweep, or the scaling of several runs.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"kvlab/metrics/format"
	"kvlab/plots"
	"kvlab/plots/compare"
	"kvlab/plots/folder"
)

func main() {
	err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	os.Exit(status(err, os.Stderr))
}

const usage = `usage: kvsplot [-out DIR] RUN [RUN ...]
       kvsplot grade FILE RUN
       kvsplot compare A B
       kvsplot compare DIR

One run folder: its figures (PNG and SVG) and report.html go into the folder
itself, or into DIR, and its table is printed.
A sweep's folder (of --sweep or --trials): the figures and the report of all its
trials. The sweep need not have ended.
Several runs: only throughput_scaling.png and .svg, throughput against the number
of nodes, or scaling_FLAG.png and .svg for a flag in which the runs differ, go into the
current folder, or into DIR. A run that is not valid is never a point; it is named
on standard error.
grade: what the run, or the trials of one configuration, are worth on the scale in
FILE, such as plots/grades.txt, and why.
compare: how much faster or slower B is than A, with an interval. A and B are run
folders, several with commas between them, or folders of --trials. DIR is a folder of
--ab, which has both: its trials are compared pair by pair.

`

// usageError is a wrong command line.
type usageError struct{ error }

// run is the command without its process.
func run(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("kvsplot", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	out := flags.String("out", "", "write into this `folder`; it is made when missing")
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return nil
	}
	if err != nil {
		if _, unknown := format.UnknownFlag(err, flags, "-"); unknown != nil {
			err = unknown
		}
		return usageError{fmt.Errorf("%w (see kvsplot -h)", err)}
	}
	for _, arg := range flags.Args() {
		if strings.HasPrefix(arg, "-") {
			return usageError{fmt.Errorf("%s is after a run folder: flags come first, as in kvsplot -out DIR RUN", arg)}
		}
	}
	switch {
	case flags.Arg(0) == "grade":
		return printGrade(flags.Args()[1:], stdout)
	case flags.Arg(0) == "compare":
		return printComparison(flags.Args()[1:], stdout)
	case flags.NArg() == 0:
		return usageError{errors.New("no run folder named: want kvsplot [-out DIR] RUN [RUN ...], for example kvsplot logs/latest")}
	case flags.NArg() == 1:
		return drawOne(flags.Arg(0), *out, stdout, stderr)
	}
	return drawMany(flags.Args(), *out, stdout, stderr)
}

// drawOne draws one run or one sweep, and prints its result.
func drawOne(dir, out string, stdout, stderr io.Writer) error {
	d, err := plots.Load(dir)
	if err != nil {
		return err
	}
	for _, missing := range d.Missing {
		fmt.Fprintf(stderr, "kvsplot: %s is incomplete: missing %s\n", dir, missing)
	}
	files, err := d.Write(cmp.Or(out, dir))
	list(stdout, files)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "\n%s", d.Summary)
	return nil
}

// drawMany draws the scaling of several runs.
func drawMany(dirs []string, out string, stdout, stderr io.Writer) error {
	files, leftOut, err := plots.DrawMany(dirs, cmp.Or(out, "."))
	for _, name := range leftOut {
		fmt.Fprintf(stderr, "kvsplot: left out %s\n", name)
	}
	list(stdout, files)
	return err
}

// printGrade prints what a run is worth on a scale.
func printGrade(args []string, stdout io.Writer) error {
	if len(args) != 2 {
		return usageError{errors.New("want kvsplot grade FILE RUN, for example kvsplot grade plots/grades.txt logs/latest")}
	}
	scale, err := compare.ReadScale(args[0])
	if err != nil {
		return usageError{err}
	}
	result, err := scale.GradeFolder(args[1])
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, result)
	return nil
}

// printComparison prints how two configurations compare.
func printComparison(args []string, stdout io.Writer) error {
	if len(args) == 1 {
		c, err := compare.Variants(args[0])
		if err != nil {
			return err
		}
		fmt.Fprintln(stdout, c)
		return nil
	}
	if len(args) != 2 {
		return usageError{errors.New("want kvsplot compare A B, for example kvsplot compare logs/a1,logs/a2 logs/b1,logs/b2, or kvsplot compare DIR with a folder of --ab")}
	}
	a, b := strings.Split(args[0], ","), strings.Split(args[1], ",")
	if slices.Contains(a, "") || slices.Contains(b, "") {
		return usageError{fmt.Errorf("a folder's name is empty in %q against %q: want names with commas between them", args[0], args[1])}
	}
	c, err := compare.Compare(a, b)
	if err != nil {
		return err
	}
	fmt.Fprintln(stdout, c)
	return nil
}

// list prints one line per file written.
func list(stdout io.Writer, files []string) {
	for _, file := range files {
		fmt.Fprintln(stdout, file)
	}
}

// status prints an error in one line and returns the exit status: 2 for a
// wrong command line or run folder, 1 for any other failure.
func status(err error, stderr io.Writer) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "kvsplot: %v\n", err)
	var input *folder.InputError
	var usage usageError
	if errors.As(err, &input) || errors.As(err, &usage) {
		return 2
	}
	return 1
}
