// Package kvs is the idea of the store: operations travel in batches, a batch
// to the server that owns its keys, and one result comes back for each
// operation, in order.
//
//	Op      what to do with one key
//	Batch   the operations of one call, encoded once, as they are drawn
//	Reply   their results, encoded as they are found
//	Router  which server owns a key
//	Engine  where a server keeps keys (kvs/engine)
//	Service what a server does with a batch, and counts
//	Call    a batch on its way to a server, and the reply (clients in kvs/wire)
//
// A batch is not atomic: each of its operations is its own linearizable
// operation, and operations on one key within a batch take effect in order.
package kvs

import "errors"

// Limits of one operation, and of the encoded form of a batch or a reply.
const (
	MaxKeyLen   = 255
	MaxValueLen = 1 << 20
	MaxBody     = 64 << 20
)

// ValueFormat is the version of the values that clients write (kvs/loadgen). Client
// and server compare it when they connect.
const ValueFormat = 1

// Op is one operation. Key and Value are borrowed from the batch that it was
// read from; an engine copies what it keeps.
type Op struct {
	Key   []byte // 1 to MaxKeyLen bytes
	Value []byte // of a Kind that Writes: 0 to MaxValueLen bytes; else nil
	Kind  Kind
}

// ErrMalformed is wrapped by every error that says a batch or a reply breaks
// its encoding.
var ErrMalformed = errors.New("malformed")
