package etcd

import (
	"hash/maphash"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kvlab/kvs"
)

// Limits of a txn: etcd's defaults are 128 operations and 1.5 MiB.
const (
	maxOps   = 128
	maxBytes = 1 << 20 // except of a single operation
)

// txn is a transaction under construction, of reads or of writes. etcd refuses two writes
// of a key in one.
type txn struct {
	request pb.TxnRequest
	slots   [maxOps]slot
	at      [maxOps]int         // the operations' numbers in the call
	keys    map[uint64]struct{} // their hashes: of two keys with the same, one waits in vain
	bytes   int
}

// slot is the memory of an operation's request.
type slot struct {
	op     pb.RequestOp
	get    pb.RequestOp_RequestRange
	put    pb.RequestOp_RequestPut
	delete pb.RequestOp_RequestDeleteRange
}

func newTxn() *txn {
	t := &txn{keys: make(map[uint64]struct{}, maxOps)}
	for i := range t.slots {
		s := &t.slots[i]
		s.get.RequestRange, s.put.RequestPut, s.delete.RequestDeleteRange = new(pb.RangeRequest), new(pb.PutRequest), new(pb.DeleteRangeRequest)
	}
	return t
}

// reset empties the txn.
func (t *txn) reset() {
	t.request.Success, t.bytes = t.request.Success[:0], 0
	clear(t.keys)
}

func (t *txn) len() int { return len(t.request.Success) }

func (t *txn) has(hash uint64) bool {
	_, ok := t.keys[hash]
	return ok
}

// fits reports whether the txn has room for an operation.
func (t *txn) fits(op *kvs.Op) bool {
	return t.len() == 0 || t.len() < maxOps && t.bytes+len(op.Key)+len(op.Value) <= maxBytes
}

// add appends operation number at of the call, to whose key and value it refers.
func (t *txn) add(op *kvs.Op, hash uint64, at int) {
	n := t.len()
	s := &t.slots[n]
	switch {
	case op.Kind == kvs.Get:
		s.get.RequestRange.Key = op.Key
		s.op.Request = &s.get
	case op.Kind == kvs.Delete:
		s.delete.RequestDeleteRange.Key = op.Key
		s.op.Request = &s.delete
	default:
		s.put.RequestPut.Key, s.put.RequestPut.Value, s.put.RequestPut.PrevKv = op.Key, op.Value, op.Kind.Reads()
		s.op.Request = &s.put
	}
	t.request.Success = append(t.request.Success, &s.op)
	t.at[n] = at
	t.keys[hash] = struct{}{}
	t.bytes += len(op.Key) + len(op.Value)
}

// result is an operation's outcome, as kvs.Reply.Answer takes it.
type result struct {
	kind  kvs.Kind
	found bool
	value []byte
}

// take sets an operation's result from its response.
func (r *result) take(response *pb.ResponseOp) {
	switch {
	case r.kind == kvs.Get:
		if pairs := response.GetResponseRange().GetKvs(); len(pairs) > 0 {
			r.found, r.value = true, pairs[0].Value
		}
	case r.kind == kvs.Delete:
		r.found = response.GetResponseDeleteRange().GetDeleted() > 0
	default:
		if before := response.GetResponsePut().GetPrevKv(); before != nil {
			r.found, r.value = true, before.Value
		}
	}
}

var seed = maphash.MakeSeed()
