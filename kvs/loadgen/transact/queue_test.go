package transact

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/route"
	"kvlab/kvs/txn"
	"kvlab/metrics"
	"kvlab/workload"
)

// maker makes operations of one server.
type maker struct{ version metrics.WriteID }

func (m *maker) Locate(id uint64) ([]byte, uint64, int) {
	key := fmt.Appendf(nil, "key%d", id)
	return key, route.Hash(key), 0
}
func (m *maker) SizeOf(uint64) int { return 32 }
func (m *maker) Stamp([]byte, uint64) metrics.WriteID {
	m.version = m.version.Next()
	return m.version
}

// refuser refuses every attempt.
type refuser struct{}

func (refuser) Transact(t *driver.Transactions) error {
	for i := range t.Attempts {
		t.Attempts[i].Outcome, t.Attempts[i].Why = txn.IsAborted, kvs.Conflict
	}
	return nil
}

// Of the refused transactions those join a round that do not refuse each other, the oldest first.
// The others wait. As more than a quarter is refused, half as many may be open.
func TestRoundOfRefused(t *testing.T) {
	q := New(Config{Workers: 1, Servers: 1, Each: 2, Writer: new(maker)})
	q.Most, q.size = 5, 5
	read, write := workload.Read, workload.Update
	ops := []workload.Op{{Kind: read, Key: 1}, {Kind: write, Key: 2}, {Kind: read, Key: 1}, {Kind: write, Key: 3}, {Kind: write, Key: 1}, {Kind: read, Key: 4}, {Kind: write, Key: 5}, {Kind: write, Key: 5}, {Kind: read, Key: 5}, {Kind: read, Key: 4}}
	q.Begin(0)
	q.Draw(ops, make([]time.Duration, len(ops)), 0)
	if q.Room() != 0 || len(q.Attempts) != 5 {
		t.Fatalf("%d attempts, and room for %d", len(q.Attempts), q.Room())
	}
	for round := range 2 {
		if err := q.Execute(refuser{}); err != nil {
			t.Fatal(err)
		}
		q.Settle(0, 0, true)
		q.Begin(0)
		var joined []uint32
		for i := range q.Attempts {
			joined = append(joined, q.Of(i).Number)
		}
		if want := []uint32{1, 2, 4}; !slices.Equal(joined, want) || q.Room() != 0 {
			t.Errorf("round %d has the transactions %v and room for %d, want %v and none", round, joined, q.Room(), want)
		}
	}
	if q.size != 1 {
		t.Errorf("%d may be open, want 1 of 5 after two rounds", q.size)
	}
}
