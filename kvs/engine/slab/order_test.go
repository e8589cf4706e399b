package slab

import (
	"testing"

	"kvlab/kvs"
)

// A batch that has seen a value replaced does not see it again, although the
// slots of its later operations were read before: after the batch's own write of
// the key the next reads must look for it when their turn has come, and those
// behind them had their slots read before that.
func TestNoWayBack(t *testing.T) {
	e := open(t)
	p := e.epochs.enter(e.arena)
	defer e.leave(p)
	key := []byte("k")
	ops := []kvs.Op{{Kind: kvs.Put, Key: key, Value: []byte("own")}}
	for len(ops) < 3*group {
		ops = append(ops, kvs.Op{Kind: kvs.Get, Key: key})
	}
	var reply, other kvs.Reply
	reply.Reset()
	other.Reset()
	e.fetchSlots(p, ops)
	e.fetchRecords(p, ops, 0, 2*group)
	e.execute(p, ops, 0, group, 2*group, &reply)
	e.fetchRecords(p, ops, 2*group, 3*group)
	e.Apply([]kvs.Op{{Kind: kvs.Put, Key: key, Value: []byte("another's")}}, &other)
	e.execute(p, ops, group, 2*group, 3*group, &reply)
	e.execute(p, ops, 2*group, 3*group, 3*group, &reply)
	results := reply.Results()
	for i := range ops {
		want := "own"
		if i >= group {
			want = "another's"
		}
		if r, err := results.Next(); err != nil || i > 0 && string(r.Value) != want {
			t.Fatalf("operation %d reads %q, error %v; want %q", i, r.Value, err, want)
		}
	}
}
