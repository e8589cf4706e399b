package slab

import (
	"testing"
	"time"

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
	e.fetchSlots(p, ops, 0, len(ops))
	e.fetchRecords(p, ops, 0, 2*group)
	e.execute(p, ops, 0, group, &reply)
	e.fetchRecords(p, ops, 2*group, 3*group)
	e.Apply([]kvs.Op{{Kind: kvs.Put, Key: key, Value: []byte("another's")}}, &other)
	e.execute(p, ops, group, 2*group, &reply)
	e.execute(p, ops, 2*group, 3*group, &reply)
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

// A writer does not fill the memory while somebody stands still inside: it waits
// for him, and goes on when he has left.
func TestWriterWaits(t *testing.T) {
	e := open(t)
	const keys, size = 1000, 1000
	put(e, 0, keys, size, 1)
	before := e.used()
	reader := e.epochs.enter(e.arena)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for round := range 20 {
			put(e, 0, keys, size, byte(round))
		}
	}()
	for waiting := 0; waiting < 50; { // it waits, and not only at this moment
		select {
		case <-done:
			t.Errorf("a writer has replaced %d MB meanwhile", 20*keys*size/1_000_000)
			waiting = 50
		case <-time.After(time.Millisecond):
			waiting++
			for _, p := range *e.epochs.all.Load() {
				if p != reader && p.inside.Load() != holdsNothing {
					waiting = 0
				}
			}
		}
	}
	e.leave(reader)
	<-done
	if grown := e.used() - before; grown > 8*enoughBytes {
		t.Errorf("the arena has grown by %d bytes", grown)
	}
}
