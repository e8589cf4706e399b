package workload

import "kvlab/internal/cli"

// choice is a row of a table: the value of the table's flag, its description in the
// help, and what it selects.
type choice[T any] struct {
	name, description string
	selects           T
}

// Label returns the name and the description.
func (c choice[T]) Label() (name, description string) { return c.name, c.description }

// find returns what a name selects, or an error that names the flag.
func find[T any](flag, name string, rows []choice[T]) (T, error) {
	row, err := cli.Find(flag, name, rows)
	return row.selects, err
}
