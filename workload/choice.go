package workload

import (
	"fmt"
	"kvlab/metrics/format"
	"slices"
	"strings"
)

// choice is the start of a table's row: the value of the table's flag, and its
// description in the help.
type choice struct{ name, description string }

func (c choice) label() choice { return c }

// row is a row of a table of choices.
type row interface{ label() choice }

// find returns the row with a name, or an error that names the flag.
func find[R row](flag, name string, rows []R) (found R, err error) {
	var names []string
	for _, r := range rows {
		if r.label().name == name {
			return r, nil
		}
		names = append(names, r.label().name)
	}
	return found, checkChoice(flag, name, names...)
}

// usage lists the rows for the help of their flag.
func usage[R row](rows []R) string {
	var all []string
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%s (%s)", r.label().name, r.label().description))
	}
	return strings.Join(all, ", ")
}

// checkChoice returns nil if value is one of choices. Otherwise it returns an error
// that lists the choices and suggests the most similar one.
func checkChoice(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("%s %q: want one of %s%s", flag, value, strings.Join(choices, ", "), format.DidYouMean(value, "", choices))
}
