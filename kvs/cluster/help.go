package cluster

import (
	_ "embed"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"kvlab/internal/cli"
	"kvlab/metrics/format"
)

//go:embed usage.txt
var usageText string

//go:embed examples.txt
var examples string

const statusLine = "\nexit status: 0 VALID or CLAIMED, 1 INVALID or failed, 2 bad usage, 130 Ctrl-C\n"

// topics are the parts of the help, each with the launcher's flags that belong to it. The
// flags of servers, also those that clients share, are in targets; those of clients alone
// are in workload.
var topics = []struct{ name, about, flags string }{
	{"nodes", "machines and processes", "nodes hosts local slurm virtual link-rate ssh-config symmetric servers-per-node clients-per-node server-cores client-cores preflight check tune reap deadline"},
	{"workload", "what clients do, and for how long", "P p secs quick soak client-args"},
	{"experiments", "questions that need more than one run", "trials until sweep ab together curve slo margin seed resume rerun selftest times baseline fail-if"},
	{"targets", "the store that is measured", "target server-args contain restart-at"},
	{"class", "a course's submissions, and grades", "grade"},
	{"output", "what is printed and kept", "out name v json dry-run no-ceiling version profile cpuprofile trace sample-every repeat"},
}

// topicOf returns a flag's topic.
func topicOf(f *flag.Flag, extras []Kind) string {
	for _, kind := range extras {
		if slices.Contains(strings.Fields(kind.Flags), f.Name) {
			return kind.Topic
		}
	}
	for _, t := range topics {
		if slices.Contains(strings.Fields(t.flags), f.Name) {
			return t.name
		}
	}
	if program, ok := f.Value.(*programFlag); !ok {
		return ""
	} else if program.of == "clients" {
		return "workload"
	}
	return "targets"
}

// printUsage prints the help: a screen with the flags that people set often, the flags of a
// topic, or, of the topic all, every flag.
func printUsage(fs *flag.FlagSet, topic string, extras []Kind, w io.Writer) error {
	names := []string{"all"}
	for _, t := range topics {
		names = append(names, t.name)
	}
	switch {
	case topic == "":
		fmt.Fprintf(w, "%s\n--help TOPIC     one of %s\n--help all       every flag, and more examples\n%s", usageText, strings.Join(names[1:], ", "), statusLine[1:])
		return nil
	case !slices.Contains(names, topic):
		return fmt.Errorf("--help %s: want %s%s", topic, strings.Join(names, ", "), cli.DidYouMean(topic, "", names))
	}
	usage, _, _ := strings.Cut(usageText, "\nwhere")
	if i := slices.Index(names, topic); i > 0 {
		usage = topic + ": " + topics[i-1].about + "\n"
	}
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
			if of == group && (topic == "all" || topicOf(f, extras) == topic) {
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
	if topic == "all" {
		fmt.Fprint(w, examples)
	}
	fmt.Fprint(w, statusLine)
	return nil
}
