package cluster

import (
	"flag"
	"slices"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/experiment"
	"kvlab/metrics"
)

// programFlag is a flag of the programs that stands among the launcher's. One that
// both programs have is given to both.
type programFlag struct {
	metrics.Flag
	given *[]experiment.Setting
}

func (f *programFlag) String() string {
	switch f.Default {
	case "false", "0": // as package flag shows no such default
		return ""
	}
	return f.Default
}

func (f *programFlag) Set(value string) error {
	*f.given = append(*f.given, experiment.Setting{Name: f.Name, Value: value})
	return nil
}

func (f *programFlag) IsBoolFlag() bool { return f.Bool }

// defineProgramFlags adds the programs' flags to fs, except for those that the launcher
// sets and those whose name it has given another meaning.
func defineProgramFlags(fs *flag.FlagSet, programs plan.Flags, given *[]experiment.Setting) {
	for _, role := range []metrics.Role{metrics.Server, metrics.Client} {
		for _, f := range programs[role] {
			if f.Class != metrics.OwnFlag && fs.Lookup(f.Name) == nil {
				fs.Var(&programFlag{f, given}, f.Name, f.Usage)
			}
		}
	}
}

// isProgramFlag reports whether a flag is the programs'.
func isProgramFlag(f *flag.Flag) bool {
	_, ok := f.Value.(*programFlag)
	return ok
}

// groupOf says which programs have a flag.
func groupOf(name string, programs plan.Flags) string {
	has := func(role metrics.Role) bool {
		return slices.ContainsFunc(programs[role], func(f metrics.Flag) bool { return f.Name == name })
	}
	switch {
	case has(metrics.Server) && has(metrics.Client):
		return "servers and clients"
	case has(metrics.Server):
		return "servers"
	}
	return "clients"
}
