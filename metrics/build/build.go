// Package build says which version of kvlab a program is.
package build

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Commit is the commit that the go command stamped into this program, with "-dirty" when
// the work tree had changes; "" for a build outside a work tree.
func Commit() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return commitOf(info)
	}
	return ""
}

// Line is a program's name, its version and Go's, and what else it says of itself, in
// one line for -version.
func Line(program string, more ...string) string {
	version := "unknown version"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(versionOf(info), version)
	}
	return strings.Join(append([]string{fmt.Sprintf("%s %s %s", program, version, runtime.Version())}, more...), ", ")
}

// versionOf is the version of the module, which has the commit of a work tree, or the
// commit alone; "" of a build outside a work tree.
func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return commitOf(info)
}

func commitOf(info *debug.BuildInfo) string {
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
