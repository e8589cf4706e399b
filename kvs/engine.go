package kvs

// Engine stores a server's keys. It is safe for concurrent use, and each operation is
// linearizable on its own.
type Engine interface {
	// Apply executes ops in order and appends one result for each to reply, which the
	// caller has Reset: Found or Missing for a Get and a ReadModifyWrite, Stored for a
	// Put. It copies the keys and values that it keeps.
	Apply(ops []Op, reply *Reply)

	// Len returns the number of keys; exact while no goroutine writes.
	Len() int
}
