package kvs

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Headroom is the free space before the body of a Batch and a Reply, where a codec puts
// its frame header: header and body are sent in one write without a copy.
const Headroom = 32

// Batch holds the operations of one call in encoded form. The worker that draws them
// builds it once, and the server reads it in place. Its body holds for each operation
//
//	kind  1 byte
//	klen  1 byte
//	key   klen bytes
//	vlen  uvarint  } if the kind carries a value
//	value          }
//
// The value of a scan is its limit, a uvarint.
//
// The zero Batch is empty and ready to use. A Batch has one owner at a time.
type Batch struct {
	buf []byte // Headroom bytes, then the body
	n   int

	transactional bool // the body is one of transactions
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	if cap(b.buf) < Headroom {
		b.buf = make([]byte, Headroom, 4096)
	}
	b.buf = b.buf[:Headroom]
	b.n, b.transactional = 0, false
}

// Len returns the number of operations.
func (b *Batch) Len() int { return b.n }

// Size returns the length of the batch's body in bytes.
func (b *Batch) Size() int { return max(len(b.buf)-Headroom, 0) }

// Get appends a Get of key. Get, Append and Reserve panic if key is longer than
// MaxKeyLen.
func (b *Batch) Get(key []byte) { b.key(Get, key) }

// Delete appends a Delete of key.
func (b *Batch) Delete(key []byte) { b.key(Delete, key) }

// Scan appends a Scan or a ScanPart from key on, of 1 to MaxScan pairs.
func (b *Batch) Scan(kind Kind, key []byte, limit int) {
	var value [binary.MaxVarintLen64]byte
	b.Append(kind, key, value[:binary.PutUvarint(value[:], uint64(limit))])
}

// Append appends an operation of a kind that Carries a value with a copy of it.
func (b *Batch) Append(kind Kind, key, value []byte) {
	copy(b.Reserve(kind, key, len(value)), value)
}

// Reserve appends an operation of a kind that Carries a value, and returns the n bytes of
// its value for the caller to fill before the batch is used.
func (b *Batch) Reserve(kind Kind, key []byte, n int) []byte {
	b.key(kind, key)
	b.buf = binary.AppendUvarint(b.buf, uint64(n))
	start := len(b.buf)
	if cap(b.buf)-start < n {
		b.buf = append(b.buf, make([]byte, n)...)
	} else {
		b.buf = b.buf[:start+n]
	}
	return b.buf[start : start+n : start+n]
}

// word is the length of a key that is copied in one piece.
const word = 16

func (b *Batch) key(kind Kind, key []byte) {
	if len(key) > MaxKeyLen {
		panic(fmt.Sprintf("kvs: a key of %d bytes in a batch; at most %d", len(key), MaxKeyLen))
	}
	at := len(b.buf)
	if cap(b.buf)-at < 2+MaxKeyLen {
		b.Grow(2 + MaxKeyLen)
		at = len(b.buf)
	}
	buf := b.buf[: at+2+MaxKeyLen : cap(b.buf)]
	buf[at], buf[at+1] = byte(kind), byte(len(key))
	if len(key) <= word && cap(key) >= word {
		// The branches of a copy mispredict random lengths. Excess bytes are
		// overwritten or cut off.
		*(*[word]byte)(buf[at+2:]) = *(*[word]byte)(key[:word])
	} else {
		copy(buf[at+2:], key)
	}
	b.buf = buf[:at+2+len(key)]
	b.n++
}

// Grow makes room for n further bytes of body.
func (b *Batch) Grow(n int) {
	if len(b.buf) < Headroom {
		b.Reset()
	}
	b.buf = slices.Grow(b.buf, n)
}

// Frame returns the headroom and the body, for a codec to send.
func (b *Batch) Frame() []byte {
	if len(b.buf) < Headroom {
		b.Reset()
	}
	return b.buf
}

// Body returns a body of size bytes for a codec to fill with n received operations.
// Next checks them.
func (b *Batch) Body(size, n int) []byte {
	b.buf = grow(b.buf, Headroom+size)
	b.n = n
	return b.buf[Headroom:]
}

// grow returns a slice of length n with undefined contents, in buf's memory if it fits.
func grow(buf []byte, n int) []byte {
	if cap(buf) < n {
		return make([]byte, n, max(n, min(n+n/8, Headroom+MaxBody)))
	}
	return buf[:n]
}

// Ops returns a cursor before the first operation.
func (b *Batch) Ops() Ops {
	if len(b.buf) < Headroom {
		return Ops{}
	}
	return Ops{rest: b.buf[Headroom:], left: b.n}
}

// Ops walks the operations of a batch.
type Ops struct {
	rest []byte
	left int
}

// Next decodes the next operations into ops and returns their number, which is less than
// len(ops) only at the end. Their keys and values refer to the batch. The error wraps
// ErrMalformed: a truncated operation, one over a limit, an unknown kind, or bytes after
// the last operation.
func (o *Ops) Next(ops []Op) (int, error) {
	for i := 0; i < len(ops); i++ {
		i += o.gets(ops[i:])
		if i == len(ops) {
			break
		}
		if o.left == 0 {
			return i, o.end()
		}
		if err := o.one(&ops[i]); err != nil {
			return i, err
		}
	}
	return len(ops), nil
}

// gets decodes the well-formed Gets before the next other operation, and returns their
// number: most operations are Gets. Each operation is found by the key length of the one
// before. Only an addition stands between the two.
func (o *Ops) gets(ops []Op) int {
	rest, at, n := o.rest, 0, 0
	for ops = ops[:min(len(ops), o.left)]; n < len(ops); n++ {
		start := at + 2
		if start > len(rest) || Kind(rest[at]) != Get {
			break
		}
		end := start + int(rest[at+1])
		if end == start || end > len(rest) {
			break
		}
		ops[n] = Op{Key: rest[start:end:end]}
		at = end
	}
	o.rest = rest[at:]
	o.left -= n
	return n
}

// end returns an error unless the last operation ends the body.
func (o *Ops) end() error {
	if len(o.rest) != 0 {
		return fmt.Errorf("%w batch: %d bytes after the last operation", ErrMalformed, len(o.rest))
	}
	return nil
}

func (o *Ops) one(op *Op) error {
	rest := o.rest
	if len(rest) < 2 {
		return o.broken("kind and key length")
	}
	kind, klen := Kind(rest[0]), int(rest[1])
	rest = rest[2:]
	if kind >= Kinds || klen == 0 {
		return fmt.Errorf("%w batch: kind %d with a key of %d bytes, %d operations before the end", ErrMalformed, kind, klen, o.left)
	}
	if len(rest) < klen {
		return o.broken("key")
	}
	op.Kind, op.Key, op.Value = kind, rest[:klen:klen], nil
	rest = rest[klen:]
	if kind.Carries() {
		var ok bool
		if op.Value, rest, ok = cutValue(rest); !ok {
			return o.broken("value")
		}
		if kind.Scans() {
			if limit, size := binary.Uvarint(op.Value); size <= 0 || size != len(op.Value) || limit-1 >= MaxScan {
				return o.broken("limit of a scan")
			}
		}
	}
	o.rest = rest
	o.left--
	return nil
}

// cutValue cuts a value and its length off an encoded operation.
func cutValue(b []byte) (value, rest []byte, ok bool) {
	vlen, size := binary.Uvarint(b)
	if size <= 0 || vlen > MaxValueLen || uint64(len(b)-size) < vlen {
		return nil, nil, false
	}
	end := size + int(vlen)
	return b[size:end:end], b[end:], true
}

func (o *Ops) broken(what string) error {
	return fmt.Errorf("%w batch: %s is truncated or over a limit, %d operations before the end", ErrMalformed, what, o.left)
}
