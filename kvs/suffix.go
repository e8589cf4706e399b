package kvs

import (
	"encoding/binary"
	"fmt"
)

// KeySuffix is the end of a key, at most 8 bytes. The first is the lowest byte of Text;
// bytes of Text beyond Len are ignored.
type KeySuffix struct {
	Text uint64
	Len  uint8
}

// AppendGets appends a Get of prefix plus each suffix, up to the first whose kind is not
// Get, and returns their number. There is a kind for every suffix. It costs a third of
// the same calls of Get. It panics if a key could be longer than MaxKeyLen.
func (b *Batch) AppendGets(prefix []byte, suffixes []KeySuffix, kinds []Kind) int {
	most := longest(prefix)
	if room := len(suffixes) * (2 + most); cap(b.buf)-len(b.buf) < room || len(b.buf) < Headroom {
		b.Grow(room)
	}
	kinds = kinds[:len(suffixes)]
	at, buf, done := len(b.buf), b.buf[:cap(b.buf)], len(suffixes)
	for i, e := range suffixes {
		if kinds[i] != Get {
			done = i
			break
		}
		klen := len(prefix) + int(e.Len)
		start := uint64(Get) | uint64(klen)<<8
		if len(prefix) > 0 {
			binary.LittleEndian.PutUint16(buf[at:], uint16(start))
			copy(buf[at+2:], prefix)
			binary.LittleEndian.PutUint64(buf[at+2+len(prefix):], e.Text)
		} else { // one store for up to six digits
			op := buf[at:][:2+8]
			binary.LittleEndian.PutUint64(op, start|e.Text<<16)
			binary.LittleEndian.PutUint16(op[8:], uint16(e.Text>>48))
		}
		at += 2 + klen
	}
	b.buf = buf[:at]
	b.n += done
	return done
}

// ReserveSuffix does what Reserve does, for the key prefix plus suffix. It panics if a key
// could be longer than MaxKeyLen.
func (b *Batch) ReserveSuffix(kind Kind, prefix []byte, e KeySuffix, n int) []byte {
	if room := 2 + longest(prefix) + binary.MaxVarintLen32 + n; cap(b.buf)-len(b.buf) < room || len(b.buf) < Headroom {
		b.Grow(room)
	}
	klen := len(prefix) + int(e.Len)
	at, buf := len(b.buf), b.buf[:cap(b.buf)]
	binary.LittleEndian.PutUint16(buf[at:], uint16(kind)|uint16(klen)<<8)
	copy(buf[at+2:], prefix)
	binary.LittleEndian.PutUint64(buf[at+2+len(prefix):], e.Text)
	at += 2 + klen
	at += binary.PutUvarint(buf[at:], uint64(n))
	b.buf = buf[:at+n]
	b.n++
	return buf[at : at+n : at+n]
}

// longest returns the maximum length of prefix plus a suffix.
func longest(prefix []byte) int {
	if len(prefix) > MaxKeyLen-8 {
		panic(fmt.Sprintf("kvs: a prefix of %d bytes in a batch; at most %d", len(prefix), MaxKeyLen-8))
	}
	return len(prefix) + 8
}
