package loadgen

import (
	"math/bits"
	"strconv"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/workload"
)

// names are the keys of all records whose ids have at most eight digits, made of
// tables: a thousand ids share their leading digits, and with them the state of
// the hash behind these, so that three digits and three steps of the hash are
// left of each. It never changes, and all workers of a client share it.
//
// Ids of many lengths in random order are poison for a loop over digits: each
// length is a branch that the processor guesses wrong, at 15 to 20 cycles. Here
// nothing branches on an id. With 10^6 records the tables take 36 KB.
type names struct {
	prefix []byte
	// heads are one for each id below 1000, and then by id / 1000, from 1 on.
	heads []head
	tails [1000]uint32 // by id % 1000: its three digits
}

// head is what a thousand ids have in common or, below 1000, one id's own. A tail is
// added to that as to the others, where it does no harm: its digits behind the last
// that counts, and its steps to a hash from which they lead to the key's.
type head struct {
	hash uint64 // route.Hash of the prefix and the digits
	text uint64 // in the lowest byte 8 times the number of digits with the tail, then those before it
}

// short is the first id that has more than eight digits.
const short = 100_000_000

// newNames returns the keys of ids below records, or nil if some are too long.
func newNames(prefix string, records uint64) *names {
	if records > short {
		return nil
	}
	n := &names{prefix: []byte(prefix), heads: make([]head, 999+(max(records, 1000)+999)/1000)}
	for i := range n.tails {
		n.tails[i] = uint32(word([]byte(strconv.Itoa(1000 + i)[1:])))
	}
	keys := newKeys(prefix)
	for i := range n.heads {
		if i < 1000 {
			key, hash := keys.key(uint64(i))
			n.heads[i] = alone(key[len(prefix):], hash, n.tails[i])
		} else {
			key, hash := keys.key(uint64(i - 999))
			digits := key[len(prefix):]
			n.heads[i] = head{hash, word(digits)<<8 | uint64(8*(len(digits)+3))}
		}
	}
	return n
}

// alone is the head of an id below 1000.
func alone(digits []byte, hash uint64, tail uint32) head {
	for i := 16; i >= 0; i -= 8 {
		hash = route.HashWithout(hash, byte(tail>>i))
	}
	return head{hash, word(digits)<<8 | uint64(8*len(digits))}
}

// word puts digits into a word, the first in the lowest byte.
func word(digits []byte) (w uint64) {
	for i, c := range digits {
		w |= uint64(c) << (8 * i)
	}
	return w
}

// of finds what follows the prefix in the keys of the records that ops are on,
// and the keys' route.Hash.
func (n *names) of(ops []workload.Op, suffixes []kvs.KeySuffix, hashes []uint64, kinds []kvs.Kind) {
	suffixes, hashes, kinds = suffixes[:len(ops)], hashes[:len(ops)], kinds[:len(ops)]
	heads, tails := n.heads, &n.tails
	for i, op := range ops {
		kinds[i] = kindOf(op.Kind)
		id := uint64(uint32(op.Key))
		thousands := uint64(uint32(op.Key) / 1000)
		at := thousands + 999
		less, isLess := bits.Sub64(id, at, 0)
		h := &heads[at+less&-isLess] // the lower of at and id
		tail := uint64(tails[id-1000*thousands])
		hash := route.HashByte(h.hash, byte(tail))
		hash = route.HashByte(hash, byte(tail>>8))
		hashes[i] = route.HashByte(hash, byte(tail>>16))
		// The tail goes behind the head's digits; behind one or two that are all
		// there are, by 48 or 56 bits, and three that are all it falls upon.
		suffixes[i] = kvs.KeySuffix{Text: h.text>>8 | tail<<((h.text-24)&63), Len: uint8(h.text) >> 3}
	}
}
