package kvs

import (
	"encoding/binary"
	"fmt"
)

// Reply is the results of one batch, in the order of its operations, in their
// encoded form: it is written once, by the engine, and read in place by the
// worker. For each operation its body holds a uvarint: 0 for a key that was not
// found, 1 for a value that was stored by a Put, else 2 + the length of the
// value that was found, which follows.
//
// The zero Reply is empty. Reset comes before its first result, and before the
// first after Free: it makes the headroom, which each result would otherwise
// have to look for (1 ns of 2.5). A Reply has one owner at a time. Replies are
// large and short-lived, so their memory is shared: Free hands it to whoever
// needs it next, still warm.
type Reply struct {
	buf    []byte // Headroom bytes, then the body
	n      int
	hits   int
	misses int
}

const (
	codeMissing = iota
	codeStored
	codeFound // and above: the value's length + codeFound
)

// Reset empties the reply, keeps its memory, and makes it ready for results.
func (r *Reply) Reset() {
	if cap(r.buf) < Headroom {
		r.buf = warm.take(4096)
	}
	*r = Reply{buf: r.buf[:Headroom]}
}

// Free gives the reply's memory away. The reply is empty then, and every value
// read from it is gone.
func (r *Reply) Free() {
	warm.give(r.buf)
	*r = Reply{}
}

// Len is the number of results.
func (r *Reply) Len() int { return r.n }

// Found appends the result of an operation that read value, which is copied.
func (r *Reply) Found(value []byte) {
	r.buf = append(binary.AppendUvarint(r.buf, uint64(len(value))+codeFound), value...)
	r.n++
	r.hits++
}

// Missing appends the result of an operation that read a key without a value.
func (r *Reply) Missing() {
	r.buf = append(r.buf, codeMissing)
	r.n++
	r.misses++
}

// Stored appends the result of a Put.
func (r *Reply) Stored() {
	r.buf = append(r.buf, codeStored)
	r.n++
}

// Frame returns the headroom and the body, for a codec to send.
func (r *Reply) Frame() []byte {
	if len(r.buf) < Headroom {
		r.Reset()
	}
	return r.buf
}

// Body returns a body of size bytes for a codec to fill with n results that it
// has received. They are checked when they are read.
func (r *Reply) Body(size, n int) []byte {
	if cap(r.buf) < Headroom {
		r.buf = warm.take(Headroom + size)
	}
	*r = Reply{buf: grow(r.buf, Headroom+size), n: n}
	return r.buf[Headroom:]
}

// Results returns a cursor before the first result.
func (r *Reply) Results() Results {
	if len(r.buf) < Headroom {
		return Results{}
	}
	return Results{rest: r.buf[Headroom:], left: r.n}
}

// Results walks the results of a reply.
type Results struct {
	rest []byte
	left int
}

// Result is one operation's outcome.
type Result struct {
	Value []byte // what was read; borrowed from the reply
	Found bool   // of an operation that reads: whether the key had a value
	Read  bool   // whether the operation read; false for a Put's result
}

// Next returns the next result. The error wraps ErrMalformed: there is none
// left, or it breaks off.
func (r *Results) Next() (Result, error) {
	if r.left > 0 && len(r.rest) > 0 {
		code, size := uint64(r.rest[0]), 1
		if code >= 0x80 {
			code, size = binary.Uvarint(r.rest)
		}
		switch {
		case size <= 0:
		case code < codeFound:
			r.rest = r.rest[size:]
			r.left--
			return Result{Read: code == codeMissing}, nil
		case code-codeFound <= uint64(len(r.rest)-size):
			end := size + int(code-codeFound)
			value := r.rest[size:end:end]
			r.rest = r.rest[end:]
			r.left--
			return Result{Value: value, Found: true, Read: true}, nil
		}
	}
	return Result{}, fmt.Errorf("%w reply: breaks off with %d results and %d bytes left", ErrMalformed, r.left, len(r.rest))
}

// End reports an error that wraps ErrMalformed unless every result has been
// read and no byte stands behind the last.
func (r *Results) End() error {
	if r.left != 0 || len(r.rest) != 0 {
		return fmt.Errorf("%w reply: %d results and %d bytes more than its batch has operations", ErrMalformed, r.left, len(r.rest))
	}
	return nil
}
