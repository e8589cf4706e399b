package kvs

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sync"
)

// dictionary remembers which values a coalesced reply already holds, so that a
// repeated one can be referred to. It compares whole values: a reply says the
// same with it and without. It forgets a value when another falls on its place,
// which costs bytes and nothing else.
type dictionary struct {
	places []place // a power of two of them
	round  uint32  // places of other rounds are empty
	sent   uint32  // values sent in full
}

type place struct {
	round uint32
	index uint32 // the value's number among those sent in full
	at    uint32 // its offset in the reply's buffer
	size  uint32
}

// shortestRepeat is the length from which on a reference, of 2 or 3 bytes, is
// worth a look.
const shortestRepeat = 16

// mostPlaces, as a power of two, bounds a dictionary to 4 MiB: how many results a
// reply will have is the client's word until its batch has been read.
const mostPlaces = 18

var dictionaries = sync.Pool{New: func() any { return new(dictionary) }}

// newDictionary returns an empty dictionary for a reply of n results.
func newDictionary(n int) *dictionary {
	d := dictionaries.Get().(*dictionary)
	if want := 1 << min(bits.Len(uint(n)), mostPlaces); len(d.places) < want {
		*d = dictionary{places: make([]place, want)}
	}
	if d.round++; d.round == 0 {
		clear(d.places)
		d.round = 1
	}
	d.sent = 0
	return d
}

// find returns the place of a value of at least shortestRepeat bytes, by its
// ends: versions of one record differ in one of them, or share a place in vain.
func (d *dictionary) find(value []byte) *place {
	le := binary.LittleEndian
	hi, lo := bits.Mul64(le.Uint64(value)^0xa0761d6478bd642f, le.Uint64(value[len(value)-8:])^0xe7037ed1a0b428db)
	return &d.places[(hi^lo)&uint64(len(d.places)-1)]
}

// foundCoalesced is Found with a reference in place of a value that the reply
// already holds.
func (r *Reply) foundCoalesced(value []byte) {
	r.n++
	r.hits++
	if r.excess {
		return
	}
	d := r.once
	if len(value) < shortestRepeat {
		d.sent++
		r.value(value)
		return
	}
	p := d.find(value)
	if p.round == d.round && int(p.size) == len(value) && bytes.Equal(r.buf[p.at:p.at+p.size], value) {
		r.buf = binary.AppendUvarint(r.buf, codeRead+uint64(p.index)<<1+1)
		return
	}
	if r.value(value); r.excess {
		return
	}
	*p = place{round: d.round, index: d.sent, at: uint32(len(r.buf) - len(value)), size: uint32(len(value))}
	d.sent++
}

// extent is where a value lies in a reply's body.
type extent struct{ at, end uint32 }
