package node

import (
	"flag"
	"fmt"
	"strings"
)

// usageText is the flag set's own list, with its one-line title.
func usageText(flags *flag.FlagSet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s [-%s] [flags]\n\n", flags.Name(), settingsFlag)
	fmt.Fprintf(&b, "-%s, in front, prints what the flags come to as JSON, and does no more.\n\n", settingsFlag)
	flags.SetOutput(&b)
	flags.PrintDefaults()
	return b.String()
}

// hint says how kvlab spells a flag that the labs spell otherwise. message is
// the flag package's: "flag provided but not defined: -name".
func hint(message string, hints map[string]string) string {
	_, name, ok := strings.Cut(message, "not defined: -")
	if !ok {
		return ""
	}
	if right, ok := hints[strings.TrimPrefix(name, "-")]; ok {
		return ": here it is " + right
	}
	return ""
}

// Values returns every flag's final value by its name, for a node's Config
// record.
func Values(flags *flag.FlagSet) map[string]string {
	values := map[string]string{}
	flags.VisitAll(func(f *flag.Flag) { values[f.Name] = f.Value.String() })
	return values
}
