// Package kvs defines the store's operations. A client sends a batch of operations to
// the server that owns their keys, and gets one result for each, in order.
//
//	Op      one operation on one key
//	Batch   the operations of one call, encoded as they are drawn
//	Reply   their results, encoded as they are found
//	Pairs   the keys and values that a scan found
//	Engine  stores a server's keys (kvs/engine)
//	Call    a batch sent to a server, and its reply (clients in kvs/wire)
//
// A batch is not atomic: each operation is linearizable on its own, and operations on
// one key within a batch take effect in order.
package kvs

import (
	"encoding/binary"
	"errors"
)

// Limits of one operation, and of an encoded batch or reply.
const (
	MaxKeyLen   = 255
	MaxValueLen = 1 << 20
	MaxBody     = 64 << 20
	MaxScan     = 1 << 16 // pairs of a scan
)

// ValueFormat is the version of the values that clients write (kvs/value). Client and
// server compare it when they connect.
const ValueFormat = 1

// Op is one operation. Key and Value refer to the batch that it was read from.
type Op struct {
	Key   []byte // 1 to MaxKeyLen bytes
	Value []byte // 0 to MaxValueLen bytes if Kind carries one; else nil
	Kind  Kind
}

// Limit returns the number of pairs that a scan returns at most, 1 to MaxScan.
func (o *Op) Limit() int {
	n, _ := binary.Uvarint(o.Value)
	return int(n)
}

// ErrMalformed is wrapped by every error about the encoding of a batch or a reply.
var ErrMalformed = errors.New("malformed")
