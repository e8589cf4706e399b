//go:build !race

package txn

import (
	"fmt"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// The race detector would empty pools.

// A call of transactions allocates nothing but what its engine does: the one of this test
// allocates a key and a value for each write.
func TestAllocations(t *testing.T) {
	for _, step := range []kvs.Step{kvs.Run, kvs.Prepare} {
		s := newSteady(step)
		for range 100 {
			s.call(t.Fatal)
		}
		engine := testing.AllocsPerRun(100, func() {
			s.reply.Reset()
			for i := range 64 {
				var key [16]byte
				s.table.engine.Apply([]kvs.Op{{Kind: kvs.Put, Key: fmt.Appendf(key[:0], "%d", 3*i), Value: make([]byte, 128)}}, &s.reply)
			}
		})
		if n := testing.AllocsPerRun(100, func() { s.call(t.Fatal) }); n > engine {
			t.Errorf("step %d: %v allocations in a call of 64 transactions, their engine's %v", step, n, engine)
		}
	}
}

// A round allocates nothing but what its engines do: these have no store.
func TestCoordinatorAllocations(t *testing.T) {
	tables := []*Table{newTable(engine.NewNull(), policies[0], 20), newTable(engine.NewNull(), policies[0], 20)}
	c := NewCoordinator(7, 2, 0)
	ops := []kvs.Op{{Kind: kvs.Put, Key: []byte("a"), Value: make([]byte, 128)}, {Key: []byte("b")}, {Key: []byte("c")}}
	places := []uint16{0, 1, 1}
	var reply kvs.Reply
	each := func(int, int, kvs.Result, uint64) error { return nil }
	round := func() {
		c.Begin(1, true)
		c.Add(ops, places)
		c.Add(ops[2:], places[:1])
		for server := range tables {
			reply.Reset()
			if _, err := tables[server].Execute(&c.Votes[server], &reply, 0); err != nil {
				t.Fatal(err)
			}
			if err := c.Voted(server, &reply, each); err != nil {
				t.Fatal(err)
			}
		}
		c.Decide()
		for server := range tables {
			reply.Reset()
			if _, err := tables[server].Execute(&c.Decisions[server], &reply, 0); err != nil {
				t.Fatal(err)
			}
			if err := c.Decided(server, &reply); err != nil {
				t.Fatal(err)
			}
		}
		if outcome, _ := c.Outcome(0); outcome != IsCommitted {
			t.Fatal(outcome)
		}
	}
	for range 100 {
		round()
	}
	if n := testing.AllocsPerRun(200, round); n > 0 {
		t.Errorf("%v allocations in a round", n)
	}
}
