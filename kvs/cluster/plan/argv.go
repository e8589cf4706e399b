package plan

import (
	"cmp"
	"slices"
	"strings"

	"kvlab/kvs/node"
)

// present returns a flag's current name.
func present(name string) string { return cmp.Or(node.RenamedFlags[name], name) }

// flagOf returns the current name of the flag that an argument begins with, and the value
// that is joined to it, as in -batch=1024; name is "" of another argument.
func flagOf(arg string) (name, value string, joined bool) {
	if !strings.HasPrefix(arg, "-") {
		return "", "", false
	}
	name, value, joined = strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return present(name), value, joined
}

// Arg returns the argument that sets a flag.
func Arg(flag, value string) string { return "-" + flag + "=" + value }

// HasFlag reports whether arguments contain a flag.
func HasFlag(args []string, flag string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := flagOf(arg)
		return name == present(flag)
	})
}

// ValueOf returns the last value of a flag in a command line; "" without it.
func ValueOf(args []string, flag string) (value string) {
	for i, arg := range args {
		name, joined, ok := flagOf(arg)
		switch {
		case name != present(flag):
		case ok:
			value = joined
		case i+1 < len(args):
			value = args[i+1]
		}
	}
	return value
}

// With returns a command line in which a flag has one value.
func With(args []string, flag, value string) []string {
	return append(Without(args, flag), Arg(flag, value))
}

// Without returns a command line without some flags and their values.
func Without(args []string, flags ...string) []string {
	_, rest := Part(args, flags...)
	return rest
}

// boolFlags are the launcher's flags without a value that Part may meet.
var boolFlags = []string{"local", "slurm", "v", "quick", "json"}

// Part parts a command line into some flags, with their values, and the rest.
func Part(args []string, flags ...string) (those, rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, joined := flagOf(args[i])
		if !slices.ContainsFunc(flags, func(flag string) bool { return name == present(flag) }) {
			rest = append(rest, args[i])
			continue
		}
		those = append(those, args[i])
		if !joined && !slices.Contains(boolFlags, name) && i+1 < len(args) {
			i++
			those = append(those, args[i])
		}
	}
	return those, rest
}
