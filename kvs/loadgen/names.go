package loadgen

import (
	"strconv"

	"kvlab/kvs"
	"kvlab/workload"
)

// names are the keys of all records whose ids have at most eight digits, made of
// tables: a thousand ids share their leading digits, and with them the state of
// the hash behind these, so that three digits and three steps of the hash are
// left of each. It never changes, and all workers of a client share it.
//
// Ids of many lengths in random order are poison for a loop over digits: each
// length is a branch that the processor guesses wrong, at 15 to 20 cycles. Here
// nothing branches on an id. With 10^6 records the tables take 24 KB.
type names struct {
	prefix []byte
	heads  []head // by id / 1000
	// tails are by id % 1000, and from 1024 on those of ids below 1000, which
	// begin without zeros: the digits, and in the highest byte their number.
	tails [2048]uint32
}

// head is what a thousand ids have in common.
type head struct {
	hash   uint64 // KeyHash of the prefix and the digits
	digits uint64 // in the lowest byte 8 times their number, then they
}

// short is the first id that has more than eight digits.
const short = 100_000_000

// newNames returns the keys of ids below records, or nil if some are too long.
func newNames(prefix string, records uint64) *names {
	if records > short {
		return nil
	}
	n := &names{prefix: []byte(prefix), heads: make([]head, (records+999)/1000)}
	n.heads[0].hash = kvs.KeyHash(n.prefix)
	keys := newKeys(prefix)
	for i := range n.heads[1:] {
		key, hash := keys.key(uint64(i + 1))
		digits := key[len(prefix):]
		n.heads[i+1] = head{hash, word(digits)<<8 | uint64(8*len(digits))}
	}
	for i := range 1000 {
		three, bare := strconv.Itoa(1000 + i)[1:], strconv.Itoa(i)
		n.tails[i] = uint32(word([]byte(three)) | 3<<24)
		n.tails[1024+i] = uint32(word([]byte(bare)) | uint64(len(bare))<<24)
	}
	return n
}

// word puts digits into a word, the first in the lowest byte.
func word(digits []byte) (w uint64) {
	for i, c := range digits {
		w |= uint64(c) << (8 * i)
	}
	return w
}

// factors are those of the FNV-1a steps over up to three digits and then over
// zero bytes, which with a factor of 1 change nothing.
var factors = func() (f [4][3]uint64) {
	for n := range f {
		for i := range f[n] {
			f[n][i] = 1
			if i < n {
				f[n][i] = kvs.KeyHashByte(0, 1)
			}
		}
	}
	return f
}()

// of finds what follows the prefix in the keys of the records that ops are on,
// and the keys' kvs.KeyHash.
func (n *names) of(ops []workload.Op, endings []kvs.Ending, hashes []uint64, kinds []kvs.Kind) {
	endings, hashes, kinds = endings[:len(ops)], hashes[:len(ops)], kinds[:len(ops)]
	for i := range ops {
		kinds[i] = kindOf[ops[i].Kind&3]
		thousands := ops[i].Key / 1000
		h := &n.heads[thousands]
		bare := (thousands - 1) >> 63 << 10 // 1024 for ids below 1000, or 0
		t := uint64(n.tails[(ops[i].Key-1000*thousands+bare)&2047])
		f := &factors[t>>24&3]
		hash := (h.hash ^ t&0xff) * f[0]
		hash = (hash ^ t>>8&0xff) * f[1]
		hashes[i] = (hash ^ t>>16&0xff) * f[2]
		first := h.digits & 0xff
		endings[i] = kvs.Ending{Text: h.digits>>8 | t<<(first&63), Len: uint8(first>>3 + t>>24)}
	}
}
