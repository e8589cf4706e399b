package node

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"kvlab/metrics"
)

// Flags are a program's flags, each with its class.
type Flags struct {
	*flag.FlagSet
	class metrics.FlagClass // of the flags that are defined now
	of    map[string]metrics.FlagClass
	main  []string
}

// NewFlags returns an empty flag set for a program.
func NewFlags(program string) *Flags {
	return &Flags{FlagSet: flag.NewFlagSet(program, flag.ContinueOnError), of: map[string]metrics.FlagClass{}}
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
		if _, old := metrics.RenamedFlags[g.Name]; !old {
			visit(g)
		}
	})
}

// Main names the flags that people set often: the launcher's short help and a
// benchmark's name show them, in this order.
func (f *Flags) Main(names ...string) { f.main = names }

// Classes are the classes of the flags, for a node's Config record.
func (f *Flags) Classes() *metrics.FlagClasses {
	f.Class(f.class)
	return &metrics.FlagClasses{Of: f.of, Main: f.main}
}

// Values returns every flag's final value by its name, for a node's Config
// record.
func (f *Flags) Values() map[string]string {
	values := map[string]string{}
	f.each(func(g *flag.Flag) { values[g.Name] = g.Value.String() })
	return values
}

// List describes the flags, in order of their names.
func (f *Flags) List() []metrics.Flag {
	var all []metrics.Flag
	classes := f.Classes()
	f.each(func(g *flag.Flag) {
		b, ok := g.Value.(interface{ IsBoolFlag() bool })
		all = append(all, metrics.Flag{
			Name: g.Name, Class: classes.Of[g.Name], Main: slices.Contains(f.main, g.Name),
			Bool: ok && b.IsBoolFlag(), Default: g.DefValue, Usage: g.Usage,
		})
	})
	return all
}

// usageText is the flag set's own list, with its one-line title.
func usageText(flags *Flags) string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s [-%s] [flags]\n\n", flags.Name(), settingsFlag)
	fmt.Fprintf(&b, "-%s first prints the final value of every flag as JSON and exits.\n\n", settingsFlag)
	present := flag.NewFlagSet("", flag.ContinueOnError)
	present.SetOutput(&b)
	flags.each(func(f *flag.Flag) { present.Var(f.Value, f.Name, f.Usage) })
	present.PrintDefaults()
	return b.String()
}
