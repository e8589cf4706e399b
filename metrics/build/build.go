// Package build says which version of kvlab a program is.
package build

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Version is kvlab's release. CITATION.cff repeats it.
const Version = "0.3.0"

// Commit returns the commit that the go command stamped into this program, with "-dirty" when
// the work tree had changes; "" for a build outside a work tree.
func Commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return CommitOf(info)
	}
	return ""
}

// Line returns a program's name, its version, commit and Go's version, and what else it says
// of itself, in one line for -version.
func Line(program string, more ...string) string {
	line := fmt.Sprintf("%s %s (%s) %s", program, Version, cmp.Or(Commit(), "unknown commit"), runtime.Version())
	return strings.Join(append([]string{line}, more...), ", ")
}

// CommitOf returns Commit of the program with that build information.
func CommitOf(info *debug.BuildInfo) string {
	var commit, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + dirty
}
