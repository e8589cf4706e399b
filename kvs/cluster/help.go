package cluster

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"strings"

	"kvlab/metrics/format"
)

//go:embed usage.txt
var usageText string

//go:embed examples.txt
var examples string

const statusLine = "\nexit status: 0 VALID, 1 INVALID or failed, 2 bad usage, 130 interrupted\n"

// printUsage prints the help: a screen with the flags that people set often, or all flags.
func printUsage(fs *flag.FlagSet, all bool, w io.Writer) {
	if !all {
		fmt.Fprint(w, usageText, "\n--help all lists every flag and gives more examples\n", statusLine[1:])
		return
	}
	usage, _, _ := strings.Cut(usageText, "\nwhere")
	fmt.Fprintln(w, usage)
	for _, group := range []string{"", "servers and clients", "servers", "clients"} {
		var text strings.Builder
		shown := flag.NewFlagSet("", flag.ContinueOnError)
		shown.SetOutput(&text)
		title := fmt.Sprintf("\nflags of %s:\n", group)
		if group == "" {
			title = ""
		}
		fs.VisitAll(func(f *flag.Flag) {
			of := ""
			if program, ok := f.Value.(*programFlag); ok {
				of = program.of
			}
			if of == group {
				fmt.Fprint(w, title)
				title = ""
				shown.Var(f.Value, f.Name, f.Usage)
			}
		})
		shown.PrintDefaults()
		const indent = 4 // of package flag
		for line := range strings.Lines(text.String()) {
			from := len(line) - len(strings.TrimLeft(line, " \t"))
			fmt.Fprintln(w, strings.Repeat(" ", min(from, indent))+format.Wrap(line, min(from, indent), indent))
		}
	}
	fmt.Fprint(w, examples, statusLine)
}
