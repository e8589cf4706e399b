package cluster

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"slices"
)

//go:embed usage.txt
var usageText string

//go:embed examples.txt
var examples string

const statusLine = "\nexit status: 0 verdict VALID, 1 verdict INVALID or failure, 2 bad usage, 130 interrupted\n"

// mainFlags are the flags that the short help shows.
var mainFlags = []string{"nodes", "local", "secs", "trials", "sweep", "ab", "dry-run", "preflight", "engine", "workload", "batch", "rate"}

// printUsage prints the help: the flags that people set often, or all of them.
func printUsage(fs *flag.FlagSet, all bool, w io.Writer) {
	fmt.Fprint(w, usageText)
	for _, group := range []string{"", "servers and clients", "servers", "clients"} {
		shown := flag.NewFlagSet("", flag.ContinueOnError)
		shown.SetOutput(w)
		title := fmt.Sprintf("\nflags of %s:\n", group)
		if group == "" {
			title = ""
		}
		fs.VisitAll(func(f *flag.Flag) {
			of := ""
			if program, ok := f.Value.(*programFlag); ok {
				of = program.of
			}
			if of == group && (all || slices.Contains(mainFlags, f.Name)) {
				fmt.Fprint(w, title)
				title = ""
				shown.Var(f.Value, f.Name, f.Usage)
			}
		})
		shown.PrintDefaults()
	}
	if !all {
		fmt.Fprint(w, "\n--help all lists every flag and gives more examples\n", statusLine)
		return
	}
	fmt.Fprint(w, examples, statusLine)
}
