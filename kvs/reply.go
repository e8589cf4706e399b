package kvs

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// Reply is the results of one batch, in the order of its operations, in their
// encoded form: it is written once, by the engine, and read in place by the
// worker. For each operation its body holds a uvarint:
//
//	0      the key was not found
//	1      a Put stored its value
//	2+2n   a value of n bytes was found, which follows
//	3+2i   a value was found, the same as the i-th that follows in full (from 0)
//
// The last kind occurs in coalesced replies only.
//
// The zero Reply is empty. Reset comes before its first result, and before the
// first after Free: it makes the headroom, which each result would otherwise
// have to look for (1 ns of 2.5). A Reply has one owner at a time. Replies are
// large and short-lived, so their memory is shared: Free hands it to whoever
// needs it next, still warm.
type Reply struct {
	buf    []byte // Headroom bytes, then the body
	n      int
	Hits   int
	Misses int
	served time.Duration
	Excess bool // values are missing for which there was no room

	Borrowed  bool // buf is another reply's
	coalesced bool
	dedup     *dictionary // of a coalesced reply that is being written
	values    []extent    // in full, of a coalesced reply that is being read
}

// extent is where a value lies in a reply's body.
type extent struct{ at, end uint32 }

const (
	codeMissing = iota
	codeStored
	codeRead // and above
)

// Reset empties the reply, keeps its memory, and makes it ready for results.
func (r *Reply) Reset() {
	if r.Borrowed || cap(r.buf) < Headroom {
		r.buf = warm.take(4096)
	}
	*r = Reply{buf: r.buf[:Headroom], values: r.values[:0]}
}

// Coalesce makes a reply of n results, which is empty, send a repeated value
// once; settle ends it.
func (r *Reply) Coalesce(n int) { r.coalesced, r.dedup = true, newDictionary(n) }

func (r *Reply) Settle() {
	if r.dedup != nil {
		dictionaries.Put(r.dedup)
		r.dedup = nil
	}
}

// Coalesced says whether the reply may refer to values it holds.
func (r *Reply) Coalesced() bool { return r.coalesced }

// Free gives the reply's memory away. The reply is empty then, and every value
// read from it is gone.
func (r *Reply) Free() {
	if !r.Borrowed {
		warm.give(r.buf)
	}
	*r = Reply{values: r.values[:0]}
}

// Borrow makes r the same reply as owner, which keeps the memory.
func (r *Reply) Borrow(owner *Reply) {
	r.Free()
	*r = *owner
	r.Borrowed = true
}

// Served is what the server says it took for the call, from having its last byte
// to having made the reply; 0 when it does not say.
func (r *Reply) Served() time.Duration { return r.served }

// SetServed is for the codec that has received the reply, after Body.
func (r *Reply) SetServed(took time.Duration) { r.served = took }

// Len is the number of results.
func (r *Reply) Len() int { return r.n }

// Size is the length of the reply's body in bytes.
func (r *Reply) Size() int { return max(len(r.buf)-Headroom, 0) }

// Found appends the result of an operation that read value, which is copied.
func (r *Reply) Found(value []byte) {
	if r.dedup != nil {
		r.foundDedup(value)
		return
	}
	r.value(value)
	r.n++
	r.Hits++
}

// foundDedup is Found with a reference in place of a value that the reply already
// holds.
func (r *Reply) foundDedup(value []byte) {
	r.n++
	r.Hits++
	if r.Excess {
		return
	}
	d := r.dedup
	if len(value) < shortestRepeat {
		d.sent++
		r.value(value)
		return
	}
	p := d.slot(value)
	if d.holds(p, value, r.buf) {
		r.buf = binary.AppendUvarint(r.buf, codeRead+uint64(p.index)<<1+1)
		return
	}
	if r.value(value); !r.Excess {
		d.add(p, value, len(r.buf))
	}
}

func (r *Reply) value(value []byte) {
	if n := len(value) + binary.MaxVarintLen64; cap(r.buf)-len(r.buf) < n && !r.widen(n) {
		return
	}
	r.buf = append(binary.AppendUvarint(r.buf, uint64(len(value))<<1+codeRead), value...)
}

// mostReply is the largest reply's buffer: what does not fit is larger than a frame.
const mostReply = Headroom + MaxBody + binary.MaxVarintLen64

// widen makes room for n bytes more, unless the reply would be larger than any may
// be. A few operations on large values ask for gigabytes.
func (r *Reply) widen(n int) bool {
	switch {
	case len(r.buf)+n > mostReply:
		r.Excess = true
		return false
	case cap(r.buf) >= mostReply/8: // in few steps, as what they leave is garbage
		r.buf = append(make([]byte, 0, min(2*cap(r.buf), mostReply)), r.buf...)
	default:
		r.buf = slices.Grow(r.buf, n)
	}
	return true
}

// Missing appends the result of an operation that read a key without a value.
func (r *Reply) Missing() {
	r.buf = append(r.buf, codeMissing)
	r.n++
	r.Misses++
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
// has received, coalesced or not. They are checked when they are read.
func (r *Reply) Body(size, n int, coalesced bool) []byte {
	if cap(r.buf) < Headroom {
		r.buf = warm.take(Headroom + size)
	}
	*r = Reply{buf: grow(r.buf, Headroom+size), n: n, coalesced: coalesced, values: r.values[:0]}
	return r.buf[Headroom:]
}

// Results returns a cursor before the first result. There is one cursor at a
// time over a coalesced reply.
func (r *Reply) Results() Results {
	if len(r.buf) < Headroom {
		return Results{}
	}
	r.values = r.values[:0]
	return Results{reply: r, rest: r.buf[Headroom:], left: r.n}
}

// Results walks the results of a reply.
type Results struct {
	reply *Reply
	rest  []byte
	left  int
}

// Result is one operation's outcome.
type Result struct {
	Value []byte // what was read; borrowed from the reply
	Found bool   // of an operation that reads: whether the key had a value
	Read  bool   // whether the operation read; false for a Put's result
}

// Next returns the next result. The error wraps ErrMalformed: there is none
// left, it breaks off, or it refers to a value that is not there.
func (r *Results) Next() (Result, error) {
	if r.left > 0 && len(r.rest) > 0 {
		code, size := uint64(r.rest[0]), 1
		if code >= 0x80 {
			if len(r.rest) > 1 && r.rest[1] < 0x80 { // values of 63 bytes to 8 KiB
				code, size = code&0x7f|uint64(r.rest[1])<<7, 2
			} else {
				code, size = binary.Uvarint(r.rest)
			}
		}
		n := (code - codeRead) >> 1
		switch {
		case size <= 0:
		case code < codeRead:
			r.rest = r.rest[size:]
			r.left--
			return Result{Read: code == codeMissing}, nil
		case code&1 != 0:
			if r.reply.coalesced && n < uint64(len(r.reply.values)) {
				r.rest = r.rest[size:]
				r.left--
				e := r.reply.values[n]
				return Result{Value: r.reply.buf[e.at:e.end:e.end], Found: true, Read: true}, nil
			}
		case n <= uint64(len(r.rest)-size):
			end := size + int(n)
			value := r.rest[size:end:end]
			r.rest = r.rest[end:]
			r.left--
			if r.reply.coalesced {
				last := len(r.reply.buf) - len(r.rest)
				r.reply.values = append(r.reply.values, extent{uint32(last - int(n)), uint32(last)})
			}
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
