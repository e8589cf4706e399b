// Package command is the program kvsplot, without the list of its commands: its main has
// that.
package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics/build"
	"kvlab/metrics/manifest"
	"kvlab/plots"
	"kvlab/plots/report"
)

// Command is a command of kvsplot.
type Command struct {
	Name     string
	Synopsis []string // its forms, each without the program's name
	Usage    string   // what it does; ends with a line feed
	Answers  bool     // it ends in an answer, which --json prints as one JSON object
	Run      func(c *Call) error
}

// Program is kvsplot with the commands and the pages that a main lists. Without a command,
// it draws.
type Program struct {
	Commands []Command
	Pages    plots.Pages
}

// UsageError is a wrong command line or run folder.
type UsageError struct{ Err error }

// Error returns the message of the error within.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error within.
func (e UsageError) Unwrap() error { return e.Err }

// Wrong returns a UsageError with a formatted message.
func Wrong(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Main executes a command line, given without the program's name, and returns the exit
// status: 2 for a wrong command line or run folder, 1 for any other failure. An error is one
// line on stderr. With --json, stdout gets a report.Document alone, and stderr all else.
func (p Program) Main(args []string, stdout, stderr io.Writer) (status int) {
	var document *report.Document
	out := stdout
	if report.AsksJSON(args) {
		document, stdout = new(report.Document), stderr
	}
	err := p.run(args, stdout, stderr, document)
	if errors.Is(err, flag.ErrHelp) {
		err = nil
	}
	if err != nil {
		fmt.Fprintf(stderr, "kvsplot: %v\n", err)
		if status = 1; errors.As(err, new(UsageError)) {
			status = 2
		}
	}
	if document.Write(out, err, status) != nil {
		return max(status, 1)
	}
	return status
}

// run executes a command, or draws folders.
func (p Program) run(args []string, stdout, stderr io.Writer, document *report.Document) error {
	c := p.call(args, stdout, stderr, document, true)
	out, look := outFlag(c), lookFlags(c)
	version := c.Flags.Bool("version", false, "print the version and exit")
	if err := c.Flags.Parse(args); err == nil && !*version {
		if i := slices.IndexFunc(p.Commands, func(row Command) bool { return row.Name == c.Flags.Arg(0) }); i >= 0 {
			before := args[:len(args)-c.Flags.NArg()] // flags before the command's name are the command's, too
			return p.Commands[i].Run(p.call(slices.Concat(before, c.Flags.Args()[1:]), stdout, stderr, document, p.Commands[i].Answers))
		}
	}
	dirs, err := c.Words()
	switch {
	case err != nil:
		return err
	case *version:
		fmt.Fprintln(stdout, build.Line("kvsplot"))
		return nil
	case len(dirs) == 0:
		return Wrong("no run folder named: want kvsplot [-out DIR] RUN [RUN ...], for example kvsplot logs/latest")
	case len(dirs) == 1 && !look.isPaper():
		*out = cmp.Or(*out, dirs[0])
	}
	if len(dirs) == 1 {
		c.Document.Of(dirs[0])
	}
	return c.draw(p.Pages.Load, dirs, *out, look)
}

// Call is one execution of a command.
type Call struct {
	Flags          *flag.FlagSet // the command adds its own before it calls Words
	Stdout, Stderr io.Writer
	Document       *report.Document // of --json; nil without
	args           []string
	usage          func() string
}

func (p Program) call(args []string, stdout, stderr io.Writer, document *report.Document, answers bool) *Call {
	flags := flag.NewFlagSet("kvsplot", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	if answers {
		flags.Bool("json", false, "print the answer as one JSON object, and all else on standard error")
	}
	return &Call{flags, stdout, stderr, document, args, p.usage}
}

// Words parses flags that may stand before, between and after words, and returns the words.
// It prints the usage text if that is asked for; the error is then flag.ErrHelp.
func (c *Call) Words() (words []string, err error) {
	for args := c.args; ; args = c.Flags.Args()[1:] {
		if err := c.Flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(c.Stdout, c.usage())
			c.Flags.SetOutput(c.Stdout)
			c.Flags.PrintDefaults()
			return nil, err
		} else if err != nil {
			return nil, Wrong("%w (see kvsplot -h)", cmp.Or(cli.UnknownFlag(err, c.Flags, "--", nil), err))
		}
		if c.Flags.NArg() == 0 {
			return words, nil
		}
		words = append(words, c.Flags.Arg(0))
	}
}

// warn says which of the folders, whose names may have commas between them, are not as the
// launcher left them. A folder without a manifest is under way.
func (c *Call) warn(words []string) {
	for _, dir := range strings.Split(strings.Join(words, ","), ",") {
		if changed, _ := manifest.Check(dir); len(changed) > 0 {
			fmt.Fprintf(c.Stderr, "kvsplot: %s is not as the launcher left it (kvsplot verify tells more): %s\n", dir, changed[0])
		}
	}
}

// usage returns the usage text: the forms of all commands, then what each does.
func (p Program) usage() string {
	forms, texts := "usage: kvsplot [-out DIR] RUN [RUN ...]\n", ""
	for _, row := range p.Commands {
		for _, form := range row.Synopsis {
			forms += "       kvsplot " + form + "\n"
		}
		texts += row.Usage
	}
	pages := ""
	for _, page := range p.Pages {
		pages += page.Usage
	}
	return forms + "\n" + oneUsage + pages + manyUsage + texts + "\n"
}
