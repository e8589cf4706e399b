package kvs

// Engine is where a server keeps its keys. It is safe for concurrent use, and
// each operation is linearizable on its own.
type Engine interface {
	// Apply executes ops in order and appends one result for each to reply,
	// which its caller has Reset: Found or Missing for a Get and a
	// ReadModifyWrite, Stored for a Put. It keeps no part of ops: keys and
	// values that stay are copied.
	Apply(ops []Op, reply *Reply)

	// Len is the number of keys; exact while no goroutine writes.
	Len() int
}
