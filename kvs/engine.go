package kvs

// Engine stores a server's keys. It is safe for concurrent use, and each operation is
// linearizable on its own.
type Engine interface {
	// Apply executes ops in order and appends one result for each to reply, which the
	// caller has Reset: Found or Missing for a Get and a ReadModifyWrite, Stored for a
	// Put and an Insert, Removed or Missing for a Delete, and the pairs of a scan. It
	// copies the keys and values that it keeps. The caller sends it no kind that it lacks.
	Apply(ops []Op, reply *Reply)

	// Len returns the number of keys; exact while no goroutine writes.
	Len() int
}
