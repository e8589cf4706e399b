package kvs

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"sync"
)

// A Version names one write of a key, in an engine that has versions. A later write of the
// key has a greater one, after a Delete too. 0 is no version: a counter that
// has reached the end stamps it, and a client cannot hold such a value.
type Version uint32

// Next counts a write, and returns its version.
func (v *Version) Next() Version {
	if *v == math.MaxUint32 {
		return 0
	}
	*v++
	return *v
}

// A client with a cache sends its batches in a compact form. Its body holds for each
// operation
//
//	head   1 byte: the kind, and above its 3 bits the form of the key
//	key    form 0: a uvarint, whose decimal digits are the key
//	       form 1 to 30: as many bytes
//	       form 31: 1 byte of length, and the bytes
//	held   uvarint, if the operation reads: the Version of the value that the client
//	       holds; 0 for none
//	vlen   uvarint  } if the kind carries a value
//	value           }
//
// It has no scans. Its reply has versions (see AddVersions).
const (
	kindBits    = 3
	numberForm  = 0
	longForm    = 31
	mostDigits  = 18 // of a key that is sent as a number
	longestText = 20 // of a uint64
)

// AppendCompact appends an operation in the compact form. held is the Version of the value
// that the client holds for the key, and is ignored unless the operation reads.
func (b *Batch) AppendCompact(op *Op, held Version) {
	if len(b.buf) < Headroom {
		b.Reset()
	}
	head, key := byte(op.Kind), op.Key
	if id, ok := Number(key); ok {
		b.buf = binary.AppendUvarint(append(b.buf, head|numberForm<<kindBits), id)
	} else {
		if form := byte(min(len(key), longForm)); form == longForm {
			b.buf = append(b.buf, head|longForm<<kindBits, byte(len(key)))
		} else {
			b.buf = append(b.buf, head|form<<kindBits)
		}
		b.buf = append(b.buf, key...)
	}
	if op.Kind.Reads() {
		b.buf = binary.AppendUvarint(b.buf, uint64(held))
	}
	if op.Kind.Carries() {
		b.buf = append(binary.AppendUvarint(b.buf, uint64(len(op.Value))), op.Value...)
	}
	b.n++
}

// Number returns the number whose decimal digits are the key, of at most 18 digits and without leading zeros.
func Number(key []byte) (n uint64, ok bool) {
	if len(key) == 0 || len(key) > mostDigits || key[0] == '0' && len(key) > 1 {
		return 0, false
	}
	for _, c := range key {
		if c -= '0'; c > 9 {
			return 0, false
		} else {
			n = n*10 + uint64(c)
		}
	}
	return n, true
}

// CompactOps walks the operations of a compact batch. It is reused for later batches.
type CompactOps struct {
	ops  Ops
	text []byte // the digits of the keys that are sent as numbers
}

// Read sets the cursor before the first operation of a compact batch.
func (o *CompactOps) Read(b *Batch) { o.ops = b.Ops() }

// Next decodes the next operations of a compact batch, as Ops.Next does. It also sets held,
// which has the length of ops, to the versions that the client holds. The keys are valid until
// the next call.
func (o *CompactOps) Next(ops []Op, held []Version) (int, error) {
	if need := len(ops) * longestText; cap(o.text) < need {
		o.text = make([]byte, 0, need) // which no append moves: the keys refer to it
	}
	o.text = o.text[:0]
	for i := range ops {
		if o.ops.left == 0 {
			return i, o.ops.end()
		}
		if err := o.one(&ops[i], &held[i]); err != nil {
			return i, err
		}
	}
	return len(ops), nil
}

func (o *CompactOps) one(op *Op, held *Version) error {
	rest := o.ops.rest
	if len(rest) < 2 {
		return o.ops.broken("kind and key")
	}
	kind, form := Kind(rest[0]&(1<<kindBits-1)), int(rest[0]>>kindBits)
	rest = rest[1:]
	if kind >= Kinds || kind.Scans() {
		return fmt.Errorf("%w batch: kind %d, %d operations before the end", ErrMalformed, kind, o.ops.left)
	}
	if form == longForm {
		form, rest = int(rest[0]), rest[1:]
		if form < longForm {
			return o.ops.broken("key length")
		}
	}
	if form == numberForm {
		id, size := binary.Uvarint(rest)
		if size <= 0 {
			return o.ops.broken("key")
		}
		start := len(o.text)
		o.text = strconv.AppendUint(o.text, id, 10)
		op.Key, rest = o.text[start:len(o.text):len(o.text)], rest[size:]
	} else if len(rest) < form {
		return o.ops.broken("key")
	} else {
		op.Key, rest = rest[:form:form], rest[form:]
	}
	op.Kind, op.Value, *held = kind, nil, 0
	if kind.Reads() {
		version, size := binary.Uvarint(rest)
		if size <= 0 || version > math.MaxUint32 {
			return o.ops.broken("held version")
		}
		*held, rest = Version(version), rest[size:]
	}
	if kind.Carries() {
		var ok bool
		if op.Value, rest, ok = cutValue(rest); !ok {
			return o.ops.broken("value")
		}
	}
	o.ops.rest = rest
	o.ops.left--
	return nil
}

// versions holds what a reply with versions has besides its results.
type versions struct {
	held   []Version // of the operations from number first on
	first  int
	digest uint64
}

var allVersions = sync.Pool{New: func() any { return new(versions) }}

// digestLen is the length of the digest before the results.
const digestLen = 8

// AddVersions gives an empty reply versions, until EndVersions. The body then begins with
// a digest of 8 bytes, and
//
//	1        of a Get or a ReadModifyWrite: the value is the one that the client holds
//	version  a uvarint; it follows a Get's value that is sent in full, and the result
//	         of each operation that writes
//
// The digest is the sum of the Digests of the values that the client holds, by the keys and
// versions that the engine has found. The client compares it with the sum by the keys and
// versions that it has sent: a server that takes a value for unchanged, and is wrong,
// fails its call.
func (r *Reply) AddVersions() {
	r.versions = allVersions.Get().(*versions)
	*r.versions = versions{}
	r.buf = append(r.buf, make([]byte, digestLen)...)
}

// Hold sets the versions of the values that the client holds, for the next operations.
func (r *Reply) Hold(held []Version) { r.versions.held, r.versions.first = held, r.n }

// EndVersions completes the reply.
func (r *Reply) EndVersions() {
	binary.LittleEndian.PutUint64(r.buf[Headroom:], r.versions.digest)
	r.versions.held = nil
	allVersions.Put(r.versions)
	r.versions = nil
}

// Versioned reports whether the engine calls FoundVersion and AnswerVersion in place of
// Found and Answer.
func (r *Reply) Versioned() bool { return r.versions != nil }

// FoundVersion appends the result of a Get as Found does, given the key that the engine has
// stored and the value's version.
func (r *Reply) FoundVersion(key, value []byte, version Version) {
	if r.unchanged(key, version) {
		return
	}
	before := len(r.buf)
	r.Found(value)
	if !r.Excess && isFull(r.buf[before:]) {
		r.buf = binary.AppendUvarint(r.buf, uint64(version))
	}
}

// AnswerVersion appends a result as Answer does, given the stored key. was is the version of
// its previous value, is the version of the value that the operation has written.
func (r *Reply) AnswerVersion(kind Kind, key, old []byte, ok bool, was, is Version) {
	if !kind.Reads() || !ok || !r.unchanged(key, was) {
		r.Answer(kind, old, ok)
	}
	if kind.Writes() && !r.Excess {
		r.buf = binary.AppendUvarint(r.buf, uint64(is))
	}
}

// unchanged appends the result of a read of a value that the client holds, and reports
// whether it does.
func (r *Reply) unchanged(key []byte, version Version) bool {
	v := r.versions
	if version == 0 || version != v.held[r.n-v.first] {
		return false
	}
	v.digest += Digest(key, version)
	r.Stored()
	r.Hits++
	return true
}

// isFull reports whether an encoded result is a value that is sent in full.
func isFull(result []byte) bool { return len(result) > 0 && result[0]&1 == 0 && result[0] != 0 }

// Digest mixes a key and a version to 64 bits, as wyhash does
// (https://github.com/wangyi-fudan/wyhash).
func Digest(key []byte, version Version) uint64 {
	const secret, secret2 = 0xa0761d6478bd642f, 0xe7037ed1a0b428db
	le, n, seed := binary.LittleEndian, len(key), uint64(secret)
	for rest := key; len(rest) > 16; rest = rest[16:] {
		seed = mix(le.Uint64(rest)^secret2, le.Uint64(rest[8:])^seed)
	}
	var first, last uint64
	switch {
	case n > 16:
		first, last = le.Uint64(key[n-16:]), le.Uint64(key[n-8:])
	case n >= 8:
		first, last = le.Uint64(key), le.Uint64(key[n-8:])
	case n >= 4:
		first, last = uint64(le.Uint32(key)), uint64(le.Uint32(key[n-4:]))
	case n > 0:
		first, last = uint64(key[0])|uint64(key[n/2])<<8, uint64(key[n-1])
	}
	return mix(mix(first^secret2, last^seed)^secret, uint64(version)^uint64(n)<<32^secret2)
}

// mix returns the two halves of a product in one word.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// Versions returns a cursor before the first result of a reply with versions, and its
// digest.
func (r *Reply) Versions() (results Results, digest uint64, err error) {
	results = r.Results()
	if len(results.body) < digestLen {
		return Results{}, 0, fmt.Errorf("%w reply: it has no digest", ErrMalformed)
	}
	digest = binary.LittleEndian.Uint64(results.body)
	results.at = digestLen
	return results, digest, nil
}

// NextVersion returns the next result of a reply with versions, for an operation of a kind. A
// result of a kind that reads is unchanged if its Read is false. version is 0 unless the reply
// has one.
func (r *Results) NextVersion(kind Kind) (result Result, version Version, err error) {
	full := isFull(r.rest())
	if result, err = r.Next(); err != nil || !kind.Writes() && !(full && kind == Get) {
		return result, 0, err
	}
	n, size := binary.Uvarint(r.rest())
	if size <= 0 || n > math.MaxUint32 {
		return Result{}, 0, fmt.Errorf("%w reply: a version is truncated with %d results and %d bytes left", ErrMalformed, r.left, len(r.rest()))
	}
	r.at += size
	return result, Version(n), nil
}
