package kvs

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// Reply holds the results of one batch, in the order of its operations, in encoded form.
// The engine writes it once, and the worker reads it in place. Its body holds for each
// operation a uvarint:
//
//	0      the key was not found
//	1      a Put or an Insert stored its value, or a Delete removed its key
//	2+2n   a value of n bytes was found, or the pairs of a scan; it follows
//	3+2i   a value was found; it equals number i of those sent in full (from 0); with Dedup
//
// The zero Reply is empty. Reset is called before the first result, and again after
// Free: it makes the headroom, so that no result has to check for it (1 ns of 2.5). A
// Reply has one owner at a time. Large replies are short-lived, so they share memory: Free
// gives it to the next Reply.
type Reply struct {
	buf    []byte // Headroom bytes, then the body
	n      int
	Hits   int
	Misses int
	Excess bool // values that did not fit are missing

	// Served is the server's own time for the call, from its last byte to the finished
	// reply; 0 if unknown. The codec that receives the reply sets it after Body.
	Served time.Duration

	Borrowed bool // buf belongs to another reply
	deduped  bool
	dedup    *dictionary // while a deduplicated reply is written
	values   []extent    // sent in full, while a deduplicated reply is read
	versions *versions   // while a reply with versions is written
}

// extent is where a value lies in a reply's body.
type extent struct{ at, end uint32 }

const (
	codeMissing = iota
	codeStored
	codeRead // and above
)

// small is the size of a reply whose buffer is its own: to share it would take a lock twice
// in each call. Free leaves it up to twice as much, so that replies of about that size keep
// theirs.
const small = 4096

// Reset empties the reply, keeps its memory, and prepares it for results.
func (r *Reply) Reset() {
	if r.Borrowed || cap(r.buf) < Headroom {
		r.buf = replyBuffers.get(small)
	}
	*r = Reply{buf: r.buf[:Headroom], values: r.values[:0]}
}

// Dedup makes an empty reply of n results send a repeated value once, until EndDedup.
func (r *Reply) Dedup(n int) { r.deduped, r.dedup = true, newDictionary(n) }

// EndDedup releases the memory of Dedup.
func (r *Reply) EndDedup() {
	if r.dedup != nil {
		dictionaries.Put(r.dedup)
		r.dedup = nil
	}
}

// Deduped reports whether the reply may hold references.
func (r *Reply) Deduped() bool { return r.deduped }

// Free releases the reply's memory, except for a small buffer. The reply is then empty, and
// values read from it are invalid.
func (r *Reply) Free() {
	kept := r.buf[:0]
	if r.Borrowed {
		kept = nil
	} else if cap(kept) > 2*small {
		replyBuffers.put(kept)
		kept = nil
	}
	*r = Reply{buf: kept, values: r.values[:0]}
}

// Borrow makes r equal to owner, which keeps the memory.
func (r *Reply) Borrow(owner *Reply) {
	r.Free()
	*r = *owner
	r.Borrowed = true
}

// Len returns the number of results.
func (r *Reply) Len() int { return r.n }

// Size returns the length of the reply's body in bytes.
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

// foundDedup appends what Found does, or a reference to a value that the reply already holds.
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
	most := len(value) + binary.MaxVarintLen64
	if cap(r.buf)-len(r.buf) < most && !r.widen(most) {
		return
	}
	at := len(r.buf)
	buf := r.buf[:at+most] // append would check for room three times
	at += binary.PutUvarint(buf[at:], uint64(len(value))<<1+codeRead)
	at += copy(buf[at:], value)
	r.buf = r.buf[:at] // buf[:at] would store the pointer again
}

// mostReply is the size of the largest reply's buffer: a larger body exceeds a frame.
const mostReply = Headroom + MaxBody + binary.MaxVarintLen64

// widen makes room for n more bytes, unless the reply would be too large: a few
// operations can read gigabytes.
func (r *Reply) widen(n int) bool {
	switch {
	case len(r.buf)+n > mostReply:
		r.Excess = true
		return false
	case cap(r.buf) >= mostReply/8: // in few steps: each leaves garbage
		r.buf = append(make([]byte, 0, min(2*cap(r.buf), mostReply)), r.buf...)
	default:
		r.buf = slices.Grow(r.buf, n)
	}
	return true
}

// Missing appends the result of an operation that read a missing key.
func (r *Reply) Missing() {
	r.buf = append(r.buf, codeMissing)
	r.n++
	r.Misses++
}

// Stored appends the result of a Put or an Insert.
func (r *Reply) Stored() {
	r.buf = append(r.buf, codeStored)
	r.n++
}

// Removed appends the result of a Delete that found its key.
func (r *Reply) Removed() {
	r.Stored()
	r.Hits++
}

// Answer appends the result of an operation of a kind, but of no scan. old is the key's
// previous value; ok is false if there was none.
func (r *Reply) Answer(kind Kind, old []byte, ok bool) {
	switch {
	case !kind.Reads() && kind != Delete:
		r.Stored()
	case !ok:
		r.Missing()
	case !kind.Reads():
		r.Removed()
	default:
		r.Found(old)
	}
}

// Append appends a result, as Results.Next returned it of another reply.
func (r *Reply) Append(result Result) {
	switch {
	case result.Found:
		r.Found(result.Value)
	case result.Read:
		r.Missing()
	default:
		r.Stored()
	}
}

// Frame returns the headroom and the body, for a codec to send.
func (r *Reply) Frame() []byte {
	if len(r.buf) < Headroom {
		r.Reset()
	}
	return r.buf
}

// Body returns a body of size bytes for a codec to fill with n received results. Next
// checks them.
func (r *Reply) Body(size, n int, deduped bool) []byte {
	need := Headroom + size
	if need > small && cap(r.buf) < need {
		r.buf = replyBuffers.get(need)
	}
	*r = Reply{buf: grow(r.buf, need), n: n, deduped: deduped, values: r.values[:0]}
	return r.buf[Headroom:]
}

// Results returns a cursor before the first result. A reply with Dedup has one cursor at
// a time.
func (r *Reply) Results() Results {
	if len(r.buf) < Headroom {
		return Results{}
	}
	r.values = r.values[:0]
	return Results{reply: r, body: r.buf[Headroom:], left: r.n}
}

// Results walks the results of a reply.
type Results struct {
	reply *Reply
	body  []byte
	at    int // where the next result begins
	left  int
}

// rest returns the results that are left, encoded.
func (r *Results) rest() []byte { return r.body[r.at:] }

// Result is one operation's outcome.
type Result struct {
	Value []byte // refers to the reply
	Found bool   // the operation read, and the key had a value; or it scanned
	Read  bool   // false for a Put, an Insert, and a Delete that removed its key
}

// Next returns the next result. The error wraps ErrMalformed: there is none left, it is
// truncated, or its reference is invalid.
func (r *Results) Next() (Result, error) {
	body, at := r.body, r.at
	if r.left > 0 && at < len(body) {
		code, start := uint64(body[at]), at+1
		if code >= 0x80 {
			if start < len(body) && body[start] < 0x80 { // values of 63 bytes to 8 KiB
				code = code&0x7f | uint64(body[start])<<7
				start++
			} else {
				var size int
				code, size = binary.Uvarint(body[at:])
				start = at + size
			}
		}
		n := (code - codeRead) >> 1
		switch {
		case start <= at:
		case code < codeRead:
			r.at = start
			r.left--
			return Result{Read: code == codeMissing}, nil
		case code&1 != 0:
			if r.reply.deduped && n < uint64(len(r.reply.values)) {
				r.at = start
				r.left--
				e := r.reply.values[n]
				return Result{Value: r.reply.buf[e.at:e.end:e.end], Found: true, Read: true}, nil
			}
		case n <= uint64(len(body)-start):
			end := start + int(n)
			r.at = end
			r.left--
			if r.reply.deduped {
				r.reply.values = append(r.reply.values, extent{uint32(Headroom + start), uint32(Headroom + end)})
			}
			return Result{Value: body[start:end:end], Found: true, Read: true}, nil
		}
	}
	return Result{}, fmt.Errorf("%w reply: truncated with %d results and %d bytes left", ErrMalformed, r.left, len(r.rest()))
}

// End returns an error that wraps ErrMalformed unless the last result was read and no
// byte follows it.
func (r *Results) End() error {
	if rest := len(r.rest()); r.left != 0 || rest != 0 {
		return fmt.Errorf("%w reply: %d results and %d bytes more than its batch has operations", ErrMalformed, r.left, rest)
	}
	return nil
}
