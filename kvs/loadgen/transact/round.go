package transact

import (
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/metrics"
)

// Round is a round of attempts, with what their Recorder needs. It is reused.
type Round struct {
	driver.Transactions
	Hashes []uint64          // of the operations' keys
	Wrote  []metrics.WriteID // of the operations; NoWrite of one that writes no value

	writer Writer
	open   []*Transaction // of the attempts
	memory []byte         // of the keys and values
}

// Writer makes the operations of a worker.
type Writer interface {
	// Locate returns the key of a record, which is valid until the next call, its hash, and
	// the server that owns it.
	Locate(id uint64) (key []byte, hash uint64, server int)
	// SizeOf returns the size of the values of the key with a hash.
	SizeOf(hash uint64) int
	// Stamp fills in the value of the worker's next write, to the key with a hash.
	Stamp(value []byte, hash uint64) metrics.WriteID
}

// Of returns the transaction of attempt i.
func (r *Round) Of(i int) *Transaction { return r.open[i] }

func (r *Round) empty() {
	r.Attempts, r.Ops, r.Places = r.Attempts[:0], r.Ops[:0], r.Places[:0]
	r.Hashes, r.Wrote, r.open, r.memory = r.Hashes[:0], r.Wrote[:0], r.open[:0], r.memory[:0]
}

// add adds an attempt of a transaction, with new values.
func (r *Round) add(t *Transaction) {
	t.Tries++
	first := len(r.Ops)
	for _, op := range t.Ops {
		key, hash, server := r.writer.Locate(op.Key)
		o := kvs.Op{Kind: kvs.Kind(op.Kind), Key: r.take(len(key))}
		copy(o.Key, key)
		wrote := metrics.NoWrite
		if o.Kind.Carries() {
			o.Value = r.take(r.writer.SizeOf(hash))
			wrote = r.writer.Stamp(o.Value, hash)
		}
		r.Ops, r.Places = append(r.Ops, o), append(r.Places, uint16(server))
		r.Hashes, r.Wrote = append(r.Hashes, hash), append(r.Wrote, wrote)
	}
	r.Attempts = append(r.Attempts, driver.Attempt{First: first, End: len(r.Ops)})
	r.open = append(r.open, t)
}

// take returns n bytes of the round's memory. It leaves earlier ones where they are.
func (r *Round) take(n int) []byte {
	at := len(r.memory)
	r.memory = slices.Grow(r.memory, n)[:at+n]
	return r.memory[at : at+n : at+n]
}
