// Package wire carries batches and replies over a connection: the handshake that
// opens it, and a codec: binary (the default), gob, or one that a main links.
//
//	Dial    a client's connection: Send and Wait, over net/rpc
//	Accept  a server's connection: Next and Reply
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"time"

	"kvlab/kvs"
)

// errFrame is wrapped by the errors of malformed frames and messages.
var errFrame = errors.New("not a kvlab frame")

type frameType uint8

const (
	requestFrame frameType = 1 + iota
	replyFrame
	errorFrame       // a reply whose body is the error's text
	transactionFrame // a request whose batch is one of transactions
)

// requestHeader returns the header of a batch, without its size and checksum.
func requestHeader(seq uint64, batch *kvs.Batch) header {
	h := header{kind: requestFrame, seq: seq, count: uint32(batch.Len())}
	if batch.Transactional() {
		h.kind = transactionFrame
	}
	return h
}

// header is sent before every body, little-endian:
//
//	0  magic   uint32  "KVL2"
//	4  type    uint8
//	5  flags   uint8
//	6  seq     uint48  of the call
//	12 took    uint32  of a reply: from the call's last byte until the reply was made, in 100 ns; else 0
//	16 count   uint32  operations or results in the body
//	20 size    uint32  of the body in bytes
//	24 body    uint32  CRC-32C of the body with flag checked, else 0
//	28 check   uint32  CRC-32C of the bytes before it
type header struct {
	kind  frameType
	flags frameFlags
	seq   uint64        // below 2^48
	took  time.Duration // below 2^32 tookUnits
	count uint32
	size  uint32
	body  uint32
}

// frameFlags are the bits of a header's flags.
type frameFlags uint8

const (
	deduped  frameFlags = 1 << iota // the reply refers to values in itself
	checked                         // the body has a checksum
	allFlags = deduped | checked
)

const (
	headerLen = kvs.Headroom
	tookUnit  = 100 * time.Nanosecond
	magic     = 'K' | 'V'<<8 | 'L'<<16 | '2'<<24
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// put writes h to the start of frame.
func (h header) put(frame []byte) {
	le := binary.LittleEndian
	le.PutUint32(frame[0:], magic)
	le.PutUint64(frame[4:], uint64(h.kind)|uint64(h.flags)<<8|h.seq<<16)
	le.PutUint32(frame[12:], uint32(min((h.took+tookUnit-1)/tookUnit, math.MaxUint32)))
	le.PutUint32(frame[16:], h.count)
	le.PutUint32(frame[20:], h.size)
	le.PutUint32(frame[24:], h.body)
	le.PutUint32(frame[28:], crc32.Checksum(frame[:28], castagnoli))
}

// bodySize reads the body's size from a header that has not been checked.
func bodySize(head []byte) uint32 { return binary.LittleEndian.Uint32(head[20:]) }

// parseHeader reads a header of one of the given types; the error wraps errFrame. It
// rejects a body over kvs.MaxBody before any memory is allocated for it.
func parseHeader(frame []byte, types ...frameType) (header, error) {
	le := binary.LittleEndian
	if m := le.Uint32(frame[0:]); m != magic {
		return header{}, fmt.Errorf("%w: it begins with %q", errFrame, frame[:4])
	}
	if sum := crc32.Checksum(frame[:28], castagnoli); sum != le.Uint32(frame[28:]) {
		return header{}, fmt.Errorf("%w: header check %08x, computed %08x", errFrame, le.Uint32(frame[28:]), sum)
	}
	h := header{
		kind:  frameType(frame[4]),
		flags: frameFlags(frame[5]),
		seq:   le.Uint64(frame[4:]) >> 16,
		took:  time.Duration(le.Uint32(frame[12:])) * tookUnit,
		count: le.Uint32(frame[16:]),
		size:  bodySize(frame),
		body:  le.Uint32(frame[24:]),
	}
	if h.took != 0 && (h.kind == requestFrame || h.kind == transactionFrame) || h.flags&^allFlags != 0 || h.flags&checked == 0 && h.body != 0 {
		return header{}, fmt.Errorf("%w: type %d, flags %02x, a time of %v and body check %08x do not go together", errFrame, h.kind, h.flags, h.took, h.body)
	}
	if h.size > kvs.MaxBody {
		return header{}, fmt.Errorf("%w: a body of %d bytes; at most %d", errFrame, h.size, kvs.MaxBody)
	}
	if h.count > h.size {
		return header{}, fmt.Errorf("%w: %d entries in %d bytes", errFrame, h.count, h.size)
	}
	if !slices.Contains(types, h.kind) {
		due := slices.Concat(types) // a copy: without it every caller's types escape to the heap
		return header{}, fmt.Errorf("%w: type %d where %d is due", errFrame, h.kind, due)
	}
	return h, nil
}
