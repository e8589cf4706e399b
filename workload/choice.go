package workload

// choice is the start of a table's row: the value of the table's flag, and its
// description in the help.
type choice struct{ name, description string }

// Label returns both.
func (c choice) Label() (name, description string) { return c.name, c.description }
