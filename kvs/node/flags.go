package node

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs/certs"
	"kvlab/metrics"
)

// Flags holds a program's flags, each with its class. The comments name the flags that all
// nodes' programs have.
type Flags struct {
	*flag.FlagSet
	tls         certs.Flags   // -tls, -tls-cert, -tls-key, -tls-ca
	sampleEvery time.Duration // -sample-every: the machine's usage; 0 is never
	profiled    bool          // -profile: of the window, for the launcher
	cpuProfile  string        // -cpuprofile: for go tool pprof
	execTrace   string        // -exec-trace: for go tool trace

	// Rival names what the arguments ask for if only the programs of extra/rivals have it;
	// else it is "". A check of Parse sets it.
	Rival string

	class metrics.FlagClass // the class of the flags that are defined next
	of    map[string]metrics.FlagClass
	main  []string
}

// RenamedFlags maps the former names of flags, which command lines may still have, to the
// names of today.
var RenamedFlags = map[string]string{"check": "linearizable", "recheck": "verify-history", "coalesce": "dedup"}

// NewFlags returns an empty flag set for a program.
func NewFlags(program string) *Flags {
	return &Flags{FlagSet: flag.NewFlagSet(program, flag.ContinueOnError), sampleEvery: reportEvery, of: map[string]metrics.FlagClass{}}
}

const shortestSampling = 10 * time.Millisecond

// Common defines the flags that all nodes' programs have.
func (f *Flags) Common() {
	f.Class(metrics.ShapeFlag)
	f.tls.Define(f.FlagSet)
	f.Class(metrics.OtherFlag)
	f.tls.DefineFiles(f.FlagSet)
	f.DurationVar(&f.sampleEvery, "sample-every", f.sampleEvery, "`interval` between samples of the machine's usage, "+shortestSampling.String()+" to "+reportEvery.String()+"; 0 takes none in the window, which shows what sampling costs")
	f.BoolVar(&f.profiled, "profile", false, "take a CPU profile of servers and clients in the window, for the run's folder and its report: profiles/server0.pb.gz and others; of a foreign store its own, as its target file says, or by perf")
	const where = " to this `file` on the node; %n stands for the node's name"
	f.StringVar(&f.cpuProfile, "cpuprofile", "", "write a CPU profile for go tool pprof"+where)
	f.StringVar(&f.execTrace, "exec-trace", "", "write an execution trace for go tool trace, several MB a second,"+where)
}

// Parse parses args, refuses positional arguments, and runs the checks. theirs are
// others' names of flags. Its errors are UsageErrors of one line, or a request for help
// that Main prints.
func (f *Flags) Parse(args []string, theirs map[string]string, checks ...func() error) error {
	f.SetOutput(io.Discard)
	for old, name := range RenamedFlags {
		if g := f.Lookup(name); g != nil {
			f.Var(g.Value, old, g.Usage)
		}
	}
	err := f.FlagSet.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return helpError(f.usageText())
	}
	if err != nil {
		err = cmp.Or(cli.UnknownFlag(err, f.FlagSet, "-", theirs), err)
		return UsageError{fmt.Errorf("%w (-help lists the flags)", cli.WrongValue(err, f.FlagSet))}
	}
	if f.NArg() > 0 {
		return UsageError{fmt.Errorf("unexpected argument %q: every setting is a flag, -name value (-help lists them)", f.Arg(0))}
	}
	for _, check := range append(checks, f.check) {
		if err := check(); err != nil {
			return UsageError{err}
		}
	}
	return nil
}

// check returns an error that names the first wrong common flag and its right form.
func (f *Flags) check() error {
	every := f.sampleEvery
	return cmp.Or(f.tls.Validate(), cli.Want(!f.profiled || f.cpuProfile == "", "-cpuprofile", f.cpuProfile, "it or -profile, since a process has one profile at a time"), cli.Want(every == 0 || every >= shortestSampling && every <= reportEvery,
		"-sample-every", every, "%s to %s, or 0", shortestSampling, reportEvery))
}

// Class sets the class of the flags defined after it.
func (f *Flags) Class(class metrics.FlagClass) {
	f.each(func(g *flag.Flag) {
		if _, ok := f.of[g.Name]; !ok {
			f.of[g.Name] = f.class
		}
	})
	f.class = class
}

// each visits the flags, without renamed ones.
func (f *Flags) each(visit func(*flag.Flag)) {
	f.VisitAll(func(g *flag.Flag) {
		if _, old := RenamedFlags[g.Name]; !old {
			visit(g)
		}
	})
}

// Main names the flags that people set often: the launcher's short help and a
// benchmark's name show them, in this order.
func (f *Flags) Main(names ...string) { f.main = names }

// Classes returns the classes of the flags, for a node's Config record.
func (f *Flags) Classes() metrics.FlagClasses {
	f.Class(f.class)
	return metrics.FlagClasses{Of: f.of, Main: f.main}
}

// Values returns every flag's final value by its name, for a node's Config
// record.
func (f *Flags) Values() map[string]string {
	values := map[string]string{}
	f.each(func(g *flag.Flag) { values[g.Name] = g.Value.String() })
	if f.Rival != "" {
		values[metrics.RivalValue] = f.Rival
	}
	return values
}

// List describes the flags, in order of their names.
func (f *Flags) List() []metrics.Flag {
	var all []metrics.Flag
	classes := f.Classes()
	f.each(func(g *flag.Flag) {
		b, ok := g.Value.(interface{ IsBoolFlag() bool })
		all = append(all, metrics.Flag{
			Name: g.Name, Class: classes.Of[g.Name],
			Bool: ok && b.IsBoolFlag(), Default: g.DefValue, Usage: g.Usage,
		})
	})
	return all
}

// Chosen returns the flags that were set to another value than their default, without those of
// OwnFlag.
func (f *Flags) Chosen() []metrics.Flag {
	set := map[string]bool{}
	f.Visit(func(g *flag.Flag) { set[cmp.Or(RenamedFlags[g.Name], g.Name)] = true })
	return slices.DeleteFunc(f.List(), func(one metrics.Flag) bool {
		return !set[one.Name] || one.Class == metrics.OwnFlag || f.Lookup(one.Name).Value.String() == one.Default
	})
}

// usageText returns the flag set's own list, with its one-line title.
func (f *Flags) usageText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s [%s] [flags]\n       %[1]s %s\n\n", f.Name(), settingsFlag, versionFlag)
	fmt.Fprintf(&b, "%s first prints the final value of every flag as JSON and exits.\n", settingsFlag)
	fmt.Fprintf(&b, "%s alone prints the program's version and those of its protocols and exits.\n\n", versionFlag)
	present := flag.NewFlagSet("", flag.ContinueOnError)
	present.SetOutput(&b)
	f.each(func(g *flag.Flag) { present.Var(g.Value, g.Name, g.Usage) })
	present.PrintDefaults()
	return b.String()
}
