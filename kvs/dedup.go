package kvs

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
)

// dictionary finds values that a reply already holds, so that a repeated value becomes a
// reference. It compares whole values. A value replaces another one in the same slot;
// the other one's next repetition is then sent in full.
type dictionary struct {
	slots []slot // a power of two
	round uint32 // slots of other rounds are empty
	sent  uint32 // values sent in full
}

type slot struct {
	round uint32
	index uint32 // the value's number among those sent in full
	at    uint32 // its offset in the reply's buffer
	size  uint32
}

// shortestRepeat is the minimum length of a value that is looked up. A reference takes 2
// or 3 bytes.
const shortestRepeat = 16

// maxSlotBits bounds a dictionary to 4 MiB, because the number of results comes from the
// client and is not yet checked.
const maxSlotBits = 18

var dictionaries = sync.Pool{New: func() any { return new(dictionary) }}

// newDictionary returns an empty dictionary for a reply of n results.
func newDictionary(n int) *dictionary {
	d := dictionaries.Get().(*dictionary)
	if want := 1 << min(bits.Len(uint(n)), maxSlotBits); len(d.slots) < want {
		*d = dictionary{slots: make([]slot, want)}
	}
	if d.round++; d.round == 0 {
		clear(d.slots)
		d.round = 1
	}
	d.sent = 0
	return d
}

// slot returns the slot of a value of at least shortestRepeat bytes. It hashes the first
// and last bytes, where versions of one record differ.
func (d *dictionary) slot(value []byte) *slot {
	le := binary.LittleEndian
	hi, lo := bits.Mul64(le.Uint64(value)^0xa0761d6478bd642f, le.Uint64(value[len(value)-8:])^0xe7037ed1a0b428db)
	return &d.slots[(hi^lo)&uint64(len(d.slots)-1)]
}

// holds reports whether the slot refers to value in buf.
func (d *dictionary) holds(p *slot, value, buf []byte) bool {
	return p.round == d.round && int(p.size) == len(value) && bytes.Equal(buf[p.at:p.at+p.size], value)
}

// add records that value was sent in full and ends at offset end of the buffer.
func (d *dictionary) add(p *slot, value []byte, end int) {
	*p = slot{round: d.round, index: d.sent, at: uint32(end - len(value)), size: uint32(len(value))}
	d.sent++
}
