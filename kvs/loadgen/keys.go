package loadgen

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/history"
	"kvlab/kvs/route"
	"kvlab/workload"
)

// keys makes the keys of records in a buffer. It belongs to one goroutine.
type keys struct {
	buf    [kvs.MaxKeyLen]byte // begins with the prefix
	prefix int
	of     route.Keys
}

func newKeys(of route.Keys) (k keys) {
	k.of, k.prefix = of, copy(k.buf[:], of.Prefix)
	return k
}

// id returns the id of the record with a key, and the key's hash; false if no record has
// it. Ids have a fixed number of digits.
func (k *keys) id(key []byte) (id, hash uint64, ok bool) {
	if len(key) < k.prefix+k.of.Digits {
		return 0, 0, false
	}
	for _, c := range key[k.prefix:][:k.of.Digits] {
		id = 10*id + uint64(c-'0')
	}
	made, hash := k.key(id)
	return id, hash, string(made) == string(key)
}

// key returns a record's key, which is valid until the next call, and its route.Hash.
func (k *keys) key(id uint64) (key []byte, hash uint64) { return k.of.Append(k.buf[:0], id) }

// keyTable makes the keys of records whose ids have at most eight digits. A thousand
// ids share their leading digits and the hash state after them: each id adds three
// digits and three steps of the hash. The table is immutable, and all workers of a
// client share it.
//
// A loop over the digits of ids of different lengths mispredicts a branch for most
// ids, at 15 to 20 cycles. This code does not branch on an id. With 10^6 records the
// tables take 36 KB.
type keyTable struct {
	prefix []byte // with the zeros that all keys have
	open   bool   // there may be longer ids
	// prefixes has one for each id below 1000, then one for each id / 1000, from 1.
	prefixes []idPrefix
	suffixes [1000]uint32 // by id % 1000: its three digits
}

// idPrefix is the common part of a thousand ids or, below 1000, one whole id, unless ids have
// leading zeros. The suffix of a whole id has no effect: its digits lie beyond the key's length, and the
// hash is chosen so that the suffix's steps lead to the key's hash.
type idPrefix struct {
	hash uint64 // route.Hash of the prefix and the digits
	text uint64 // in the lowest byte 8 times the number of digits with the suffix, then the digits before it
}

// firstLongID is the first id that has more than eight digits.
const (
	longDigits  = 8
	firstLongID = 100_000_000
)

// keyTable returns the table of the workload's keys, or nil if it would not be used.
func (c Config) keyTable(plan *workload.Plan) *keyTable {
	if plan.Share(workload.Delete)+plan.Share(workload.Scan) > 0 || plan.Replays() {
		return nil // addAny adds these
	}
	records, open := c.Workload.Records, plan.Share(workload.Insert) > 0
	if open {
		records = max(records, firstLongID)
	}
	t := newKeyTable(c.keys(), records)
	if t != nil {
		t.open = open
	}
	return t
}

// lacks reports whether the table lacks the key of an operation.
func (t *keyTable) lacks(ops []workload.Op) bool {
	return t.open && slices.ContainsFunc(ops, func(op workload.Op) bool { return op.Key >= firstLongID })
}

// newKeyTable returns the keys of ids below records, or nil if some ids or keys are too
// long for it.
func newKeyTable(of route.Keys, records uint64) *keyTable {
	if records > firstLongID || of.Sizes != nil {
		return nil
	}
	padded := of.Digits >= longDigits
	if padded {
		of.Prefix += strings.Repeat("0", of.Digits-longDigits)
		of.Digits = longDigits - 3
	}
	n := &keyTable{prefix: []byte(of.Prefix), prefixes: make([]idPrefix, 999+(max(records, 1000)+999)/1000)}
	for i := range n.suffixes {
		n.suffixes[i] = uint32(packDigits([]byte(strconv.Itoa(1000 + i)[1:])))
	}
	keys := newKeys(of)
	for i := range n.prefixes {
		id, omitted := uint64(i), 0 // and the number of its digits that are in the suffix
		switch {
		case i >= 1000:
			id, omitted = id-999, 3
		case padded:
			id, omitted = 0, 3
		}
		key, hash := keys.key(id)
		digits := key[len(of.Prefix):]
		for shift := 16; omitted == 0 && shift >= 0; shift -= 8 {
			hash = route.HashWithout(hash, byte(n.suffixes[i]>>shift))
		}
		n.prefixes[i] = idPrefix{hash, packDigits(digits)<<8 | uint64(8*(len(digits)+omitted))}
	}
	return n
}

// packDigits puts digits into a word, the first in the lowest byte.
func packDigits(digits []byte) (w uint64) {
	for i, c := range digits {
		w |= uint64(c) << (8 * i)
	}
	return w
}

// fill sets the key suffixes, the keys' route.Hash and the kinds of ops.
func (t *keyTable) fill(ops []workload.Op, suffixes []kvs.KeySuffix, hashes []uint64, kinds []kvs.Kind) {
	suffixes, hashes, kinds = suffixes[:len(ops)], hashes[:len(ops)], kinds[:len(ops)]
	prefixes, threeDigits := t.prefixes, &t.suffixes
	for i, op := range ops {
		kinds[i] = kvs.Kind(op.Kind) // both number their kinds alike
		id := uint64(uint32(op.Key))
		thousands := uint64(uint32(op.Key) / 1000)
		at := thousands + 999
		less, isLess := bits.Sub64(id, at, 0)
		p := &prefixes[at+less&-isLess] // the lower of at and id
		last := uint64(threeDigits[id-1000*thousands])
		hash := route.HashByte(p.hash, byte(last))
		hash = route.HashByte(hash, byte(last>>8))
		hashes[i] = route.HashByte(hash, byte(last>>16))
		// The last digits follow the prefix's. Of an id below 1000 the prefix has all
		// digits: the last digits go 48 or 56 bits higher, or over three equal ones.
		suffixes[i] = kvs.KeySuffix{Text: p.text>>8 | last<<((p.text-24)&63), Len: uint8(p.text) >> 3}
	}
}

// recordedEach is the most keys whose operations are recorded in each range of popularity
// ranks that begins with a power of two: 75 keys of 10^6.
const (
	recordedEach    = 4
	recordedInserts = 64
)

// recordedIDs returns the ids of the records whose operations are recorded. Of the inserted
// ones the first are recorded: the first slice sees their inserts.
func recordedIDs(plan *workload.Plan, secret uint64) (ids []uint64) {
	for _, rank := range plan.Sample(secret, recordedEach) {
		ids = append(ids, plan.Key(rank))
	}
	inserts := plan.SampleInserts(secret)
	return append(ids, inserts[:min(recordedInserts, len(inserts))]...)
}

// record makes the workers record their operations on the keys that the secret selects, or
// without a launcher the seed.
func (g *Generator) record(plan *workload.Plan) {
	var recorded history.Keys
	keys := newKeys(g.config.keys())
	for _, id := range recordedIDs(plan, cmp.Or(g.Secret, g.config.Workload.Seed)) {
		key, _ := keys.key(id)
		recorded.Names = append(recorded.Names, string(key))
	}
	slices.Sort(recorded.Names)
	for _, name := range recorded.Names {
		recorded.Owners = append(recorded.Owners, g.workers[0].router.Server([]byte(name), route.Hash([]byte(name))))
	}
	if plan.Share(workload.Delete) > 0 {
		recorded.Deleters = g.config.Clients * g.config.Workers
	}
	slices, recorders := history.New(g.config.Index, g.config.Workers, recorded)
	g.slices = slices
	for i, w := range g.workers {
		w.history = recorders[i]
		w.history.BeginRound(uint32(w.writer), time.Now()) // what it wrote so far is not recorded
	}
}
