// Command kvsplot draws run folders: the figures and the report of one, or of one
// sweep, or the scaling of several runs.
package main

import (
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kvlab/extra/artifact"
	"kvlab/extra/export"
	"kvlab/internal/cli"
	"kvlab/kvs/verdict"
	"kvlab/metrics"
	"kvlab/metrics/build"
	"kvlab/metrics/format"
	"kvlab/plots"
	"kvlab/plots/compare"
	"kvlab/plots/verify"
)

func main() {
	os.Exit(status(run(os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

//go:embed usage.txt
var usage string

// usageError is a wrong command line or run folder.
type usageError struct{ error }

// commands are those that have flags of their own.
var commands = map[string]func(args []string, stdout, stderr io.Writer) error{"export": exported, "list": list, "serve": serveRuns, "pack": pack}

// run is the command without its process.
func run(args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && commands[args[0]] != nil {
		return commands[args[0]](args[1:], stdout, stderr)
	}
	flags := newFlags()
	out := flags.String("out", "", "write into this `folder`; it is made when missing")
	version := flags.Bool("version", false, "print the version and exit")
	words, err := parse(flags, args, stdout)
	switch {
	case err != nil:
		return err
	case *version:
		fmt.Fprintln(stdout, build.Line("kvsplot"))
		return nil
	case len(words) == 0:
		return usageError{errors.New("no run folder named: want kvsplot [-out DIR] RUN [RUN ...], for example kvsplot logs/latest")}
	}
	if words[0] != "verify" && words[0] != "fields" {
		warn(words, stderr)
	}
	var result fmt.Stringer
	switch words[0] {
	case "grade":
		result, err = grade(words[1:])
	case "compare":
		result, err = comparison(words[1:])
	case "verify":
		return verifyRuns(words[1:], stdout)
	case "checks":
		_, err := fmt.Fprint(stdout, verdict.Table())
		return err
	case "fields":
		return fields(words[1:], stdout)
	case "curves":
		return draw(plots.LoadCurves, words[1:], cmp.Or(*out, "."), stdout, stderr)
	default:
		if *out == "" && len(words) == 1 {
			*out = words[0]
		}
		return draw(plots.Load, words, cmp.Or(*out, "."), stdout, stderr)
	}
	if err != nil {
		return usageError{err}
	}
	fmt.Fprintln(stdout, result)
	return nil
}

// warn says which of the folders, whose names may have commas between them, are not as the
// launcher left them. A folder without a manifest is under way.
func warn(words []string, stderr io.Writer) {
	for _, dir := range strings.Split(strings.Join(words, ","), ",") {
		if changed, _ := metrics.CheckManifest(dir); len(changed) > 0 {
			fmt.Fprintf(stderr, "kvsplot: %s is not as the launcher left it (kvsplot verify tells more): %s\n", dir, changed[0])
		}
	}
}

func newFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("kvsplot", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse parses flags that may stand before, between and after words, and returns the words.
// It prints the usage text if that is asked for; the error is then flag.ErrHelp.
func parse(flags *flag.FlagSet, args []string, stdout io.Writer) (words []string, err error) {
	for {
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usage)
			flags.SetOutput(stdout)
			flags.PrintDefaults()
			return nil, err
		} else if err != nil {
			if _, unknown := cli.UnknownFlag(err, flags, "--"); unknown != nil {
				err = unknown
			}
			return nil, usageError{fmt.Errorf("%w (see kvsplot -h)", err)}
		}
		if flags.NArg() == 0 {
			return words, nil
		}
		words, args = append(words, flags.Arg(0)), flags.Args()[1:]
	}
}

// draw draws what load makes of folders into the folder out, and prints the result.
func draw(load func(dirs ...string) (plots.Drawing, error), dirs []string, out string, stdout, stderr io.Writer) error {
	d, err := load(dirs...)
	for _, note := range d.Notes {
		fmt.Fprintf(stderr, "kvsplot: %s\n", note)
	}
	if err != nil {
		return usageError{err}
	}
	files, err := d.Write(out)
	for _, file := range files {
		fmt.Fprintln(stdout, file)
	}
	if err == nil && d.Summary != "" {
		fmt.Fprintf(stdout, "\n%s", d.Summary)
	}
	return err
}

// exported writes tables of run folders. Its flags may stand before, between and after
// the folders.
func exported(args []string, stdout, _ io.Writer) error {
	flags := newFlags()
	out := flags.String("out", "", "write all tables into this `folder`; it is made when missing")
	name := flags.String("table", export.Names[0], "the table that goes to standard output: "+strings.Join(export.Names, ", "))
	dirs, err := parse(flags, args, stdout)
	if err != nil {
		return err
	}
	table := slices.Index(export.Names, *name)
	switch {
	case len(dirs) == 0:
		return usageError{errors.New("no run folder named: want kvsplot export RUN [RUN ...], for example kvsplot export --table seconds logs/latest")}
	case table < 0:
		return usageError{fmt.Errorf("--table %q: want %s", *name, strings.Join(export.Names, ", "))}
	}
	tables, err := export.Load(dirs)
	switch {
	case err != nil:
		return usageError{err}
	case *out != "":
		return tables.Write(*out, stdout)
	}
	return tables[table].CSV(stdout)
}

// pack packs a run's folder with the source of its programs, of the checkout that this program
// is in.
func pack(args []string, stdout, stderr io.Writer) error {
	flags := newFlags()
	out := flags.String("o", "artifact.tar.gz", "the `file` to write")
	dirs, err := parse(flags, args, stdout)
	if err != nil {
		return err
	}
	if len(dirs) != 1 {
		return usageError{errors.New("want kvsplot pack RUN [-o artifact.tar.gz], for example kvsplot pack logs/latest")}
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := artifact.Pack(filepath.Dir(filepath.Dir(program)), dirs[0], *out, stderr); err != nil {
		return usageError{err}
	}
	fmt.Fprintln(stdout, *out)
	return nil
}

// verifyRuns computes the figures of folders again and prints what differs.
func verifyRuns(dirs []string, stdout io.Writer) error {
	if len(dirs) == 0 {
		return usageError{errors.New("want kvsplot verify RUN [RUN ...], for example kvsplot verify logs/latest")}
	}
	different := 0
	for _, dir := range dirs {
		results, err := verify.Run(dir)
		for _, r := range results {
			fmt.Fprintln(stdout, r)
			if len(r.Differences) > 0 {
				different++
			}
		}
		if err != nil {
			return usageError{err}
		}
	}
	if different > 0 {
		return fmt.Errorf("%s not as recorded", format.Plural(different, "folder"))
	}
	return nil
}

// grade is what a run is worth on a scale.
func grade(args []string) (fmt.Stringer, error) {
	if len(args) != 2 {
		return nil, errors.New("want kvsplot grade FILE RUN, for example kvsplot grade plots/grades.txt logs/latest")
	}
	scale, err := compare.ReadScale(args[0])
	if err != nil {
		return nil, err
	}
	return scale.GradeFolder(args[1])
}

// comparison is how two configurations compare.
func comparison(args []string) (fmt.Stringer, error) {
	switch len(args) {
	case 1:
		return compare.Variants(args[0])
	case 2:
		return compare.Compare(strings.Split(args[0], ","), strings.Split(args[1], ","))
	}
	return nil, errors.New("want kvsplot compare A B, for example kvsplot compare logs/a1,logs/a2 logs/b1,logs/b2, or kvsplot compare DIR with a folder of --ab")
}

// status prints an error in one line and returns the exit status: 2 for a
// wrong command line or run folder, 1 for any other failure.
func status(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "kvsplot: %v\n", err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}
