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

// Durable is an Engine that stores on disk. An Apply gets all operations of a call, and the
// call's Commit follows it.
type Durable interface {
	Engine

	// Commit returns when all that the Applies before it wrote or read is as durable as the
	// engine promises. Its error is final: what was not durable may be lost.
	Commit() error
}
