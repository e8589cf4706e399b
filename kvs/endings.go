package kvs

import (
	"encoding/binary"
	"fmt"
)

// Ending is the last bytes of a key, at most 8, the first of them in the lowest
// byte of Text, whose further bytes do not count.
type Ending struct {
	Text uint64
	Len  uint8
}

// Gets appends a Get of each key that prefix and one of the endings make, up to
// the first whose kind is not Get, and returns how many they are: Batch.Get for
// many keys at a third of its cost. There must be a kind for every ending. It
// panics if a key could be longer than MaxKeyLen.
func (b *Batch) Gets(prefix []byte, endings []Ending, kinds []Kind) int {
	most := longest(prefix)
	if room := len(endings) * (2 + most); cap(b.buf)-len(b.buf) < room || len(b.buf) < Headroom {
		b.Grow(room)
	}
	kinds = kinds[:len(endings)]
	at, buf, done := len(b.buf), b.buf[:cap(b.buf)], len(endings)
	for i, e := range endings {
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
		} else { // six digits need one store
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

// ReserveEnding is Reserve for the key that prefix and an ending make. It panics if
// a key could be longer than MaxKeyLen.
func (b *Batch) ReserveEnding(kind Kind, prefix []byte, e Ending, n int) []byte {
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

// longest is how many bytes a key of this prefix and an ending has at most.
func longest(prefix []byte) int {
	if len(prefix) > MaxKeyLen-8 {
		panic(fmt.Sprintf("kvs: a prefix of %d bytes in a batch; at most %d", len(prefix), MaxKeyLen-8))
	}
	return len(prefix) + 8
}
