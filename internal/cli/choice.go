// Package input reads what people give, in flags, files and lists, and words what is wrong with it:
// the flag or file:line, the right form, the nearest choice.
package cli

import (
	"fmt"
	"slices"
	"strings"
)

// row is a row of a table of choices. Its name is the value of the table's flag, and its
// description is in the help.
type row interface {
	Label() (name, description string)
}

// Names returns the names of the rows.
func Names[R row](rows []R) (names []string) {
	for _, r := range rows {
		name, _ := r.Label()
		names = append(names, name)
	}
	return names
}

// Find returns the row with a name, or an error that names the flag, lists the names and
// suggests the most similar one.
func Find[R row](flag, name string, rows []R) (found R, err error) {
	names := Names(rows)
	if i := slices.Index(names, name); i >= 0 {
		return rows[i], nil
	}
	return found, fmt.Errorf("%s %q: want one of %s%s", flag, name, strings.Join(names, ", "), DidYouMean(name, "", names))
}

// Usage lists the rows for the help of their flag.
func Usage[R row](rows []R) string {
	var all []string
	for _, r := range rows {
		name, description := r.Label()
		all = append(all, fmt.Sprintf("%s (%s)", name, description))
	}
	return strings.Join(all, ", ")
}
