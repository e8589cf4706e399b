package txn

import (
	"errors"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// part is a step of a test: an attempt's number, and the answer that is due.
type part struct {
	owner  uint64
	step   kvs.Step
	number uint64
	want   kvs.Status
}

// send executes a batch with one part. A Prepare or a Run replaces the value of key.
func (p part) send(t *testing.T, table *Table, mark uint64, now time.Duration) (kvs.Status, error) {
	t.Helper()
	var batch kvs.Batch
	var reply kvs.Reply
	reply.Reset()
	batch.Begin(kvs.Head{Owner: p.owner, Mark: mark})
	q := kvs.Part{Step: p.step, Number: p.number, Owner: 1}
	if p.step <= kvs.Prepare {
		q.Ops, q.Parties = 1, []uint16{0, 3}
	}
	batch.Part(&q)
	if q.Ops > 0 {
		batch.Append(kvs.ReadModifyWrite, []byte("key"), []byte{byte(p.number)})
	}
	if _, err := table.Execute(&batch, &reply, now); err != nil {
		return 0, err
	}
	results := reply.Results()
	answer, err := results.NextAnswer()
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status, nil
}

// What each step answers after others, and what it leaves in the store.
func TestSteps(t *testing.T) {
	const other = 2 // a second owner, who settles
	tests := []struct {
		name  string
		steps []part
		value byte // that the key has at the end; 0 for none
		free  bool // no lock is held at the end
	}{
		{"commit", []part{{1, kvs.Prepare, 1, kvs.Done}, {1, kvs.Commit, 1, kvs.Done}}, 1, true},
		{"abort", []part{{1, kvs.Prepare, 1, kvs.Done}, {1, kvs.Abort, 1, kvs.Done}}, 0, true},
		{"commit twice", []part{{1, kvs.Prepare, 1, kvs.Done}, {1, kvs.Commit, 1, kvs.Done}, {1, kvs.Run, 2, kvs.Done}, {1, kvs.Commit, 1, kvs.Done}}, 2, true},
		{"commit after abort", []part{{1, kvs.Prepare, 1, kvs.Done}, {1, kvs.Abort, 1, kvs.Done}, {1, kvs.Commit, 1, kvs.Aborted}}, 0, true},
		{"abort after commit", []part{{1, kvs.Prepare, 1, kvs.Done}, {1, kvs.Commit, 1, kvs.Done}, {1, kvs.Abort, 1, kvs.Committed}}, 1, true},
		{"commit of nothing", []part{{1, kvs.Commit, 1, kvs.Absent}, {1, kvs.Abort, 2, kvs.Absent}}, 0, true},
		{"commit by another owner", []part{{1, kvs.Prepare, 1, kvs.Done}, {other, kvs.Commit, 1, kvs.Absent}}, 0, false},
		{"locked", []part{{1, kvs.Prepare, 1, kvs.Done}, {other, kvs.Run, 1, kvs.Conflict}, {other, kvs.Prepare, 2, kvs.Conflict}, {other, kvs.Commit, 2, kvs.Absent}}, 0, false},
		{"no settlement without a fence", []part{{1, kvs.Prepare, 1, kvs.Done}, {other, kvs.SettleAbort, 1, kvs.Voted}, {other, kvs.SettleCommit, 1, kvs.Voted}}, 0, false},
		{"fenced, and its owner is late", []part{{1, kvs.Prepare, 1, kvs.Done}, {other, kvs.Fence, 1, kvs.Voted}, {1, kvs.Commit, 1, kvs.Fenced}, {1, kvs.Abort, 1, kvs.Fenced}}, 0, false},
		{"settled on commit", []part{{1, kvs.Prepare, 1, kvs.Done}, {other, kvs.Fence, 1, kvs.Voted}, {other, kvs.SettleCommit, 1, kvs.Done}, {other, kvs.SettleCommit, 1, kvs.Done}, {1, kvs.Commit, 1, kvs.Done}}, 1, true},
		{"settled on abort", []part{{1, kvs.Prepare, 1, kvs.Done}, {other, kvs.Fence, 1, kvs.Voted}, {other, kvs.SettleAbort, 1, kvs.Done}, {1, kvs.Commit, 1, kvs.Aborted}}, 0, true},
		{"a fence after the decision", []part{{1, kvs.Prepare, 1, kvs.Done}, {1, kvs.Commit, 1, kvs.Done}, {other, kvs.Fence, 1, kvs.Committed}, {other, kvs.SettleAbort, 1, kvs.Committed}}, 1, true},
		{"a fence before the vote", []part{{other, kvs.Fence, 1, kvs.Absent}, {1, kvs.Prepare, 1, kvs.Fenced}, {other, kvs.SettleCommit, 1, kvs.Absent}, {other, kvs.SettleAbort, 1, kvs.Done}}, 0, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table := newTable(engine.NewSyncMap(), policies[0], 4)
			for i, s := range test.steps {
				if got, err := s.send(t, table, 0, 0); err != nil || got != s.want {
					t.Fatalf("step %d: %s, %v; want %s", i, got, err, s.want)
				}
			}
			var reply kvs.Reply
			reply.Reset()
			table.engine.Apply([]kvs.Op{{Key: []byte("key")}}, &reply)
			results := reply.Results()
			if got, err := results.Next(); err != nil || got.Found != (test.value > 0) || got.Found && got.Value[0] != test.value {
				t.Errorf("the key has %v, %v; want %d", got.Value, err, test.value)
			}
			locked := false
			for i := range table.words {
				locked = locked || table.words[i].Load()>>versionBits != 0
			}
			if locked == test.free {
				t.Errorf("locks are held: %t", locked)
			}
		})
	}
}

// A mark forgets what is decided, and nothing else; an attempt is not prepared twice.
func TestMark(t *testing.T) {
	table := newTable(engine.NewSyncMap(), policies[0], 4)
	for _, s := range []part{{1, kvs.Prepare, 1, kvs.Done}, {1, kvs.Commit, 1, kvs.Done}, {1, kvs.Prepare, 2, kvs.Done}} {
		if got, err := s.send(t, table, 0, 0); err != nil || got != s.want {
			t.Fatalf("%s, %v; want %s", got, err, s.want)
		}
	}
	if _, err := (part{1, kvs.Prepare, 2, 0}).send(t, table, 0, 0); !errors.Is(err, kvs.ErrMalformed) || !strings.Contains(err.Error(), "attempt 2 of owner 1 is prepared again") {
		t.Errorf("prepared again: %v", err)
	}
	if got, err := (part{1, kvs.Commit, 1, 0}).send(t, table, 3, 0); err != nil || got != kvs.Absent {
		t.Errorf("a forgotten attempt: %s, %v", got, err)
	}
	if got, err := (part{1, kvs.Commit, 2, 0}).send(t, table, 3, 0); err != nil || got != kvs.Done {
		t.Errorf("one without a decision below the mark: %s, %v", got, err)
	}
	if _, err := (part{1, kvs.Prepare, 1, 0}).send(t, table, 3, 0); !errors.Is(err, kvs.ErrMalformed) {
		t.Errorf("prepared below the mark: %v", err)
	}
	if got, err := (part{2, kvs.Fence, 1, 0}).send(t, table, 0, 0); err != nil || got != kvs.Absent {
		t.Errorf("a fence below the mark: %s, %v", got, err)
	}
	if n := len(table.owners[1].attempts); n != 0 {
		t.Errorf("%d attempts are kept", n)
	}
}

// An attempt is overdue after the lease, until somebody settles it.
func TestOverdue(t *testing.T) {
	c := newCluster(t, policies[0], 4, 1, 4)
	if _, err := (part{1, kvs.Prepare, 7, 0}).send(t, c.tables[0], 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := c.overdue(0, time.Minute+Lease-1); len(got) > 0 {
		t.Errorf("within the lease: %+v", got)
	}
	got := c.overdue(0, time.Minute+Lease)
	if len(got) != 1 || got[0].Owner != 1 || got[0].Number != 7 || len(got[0].Parties) != 2 || got[0].Parties[1] != 3 {
		t.Errorf("after the lease: %+v", got)
	}
	if committed, err := c.resolver(0).Settle(got); err != nil || len(committed) != 1 || committed[0] {
		t.Fatalf("settled: %v, %v", committed, err)
	}
	if got := c.overdue(0, time.Hour); len(got) > 0 {
		t.Errorf("settled: %+v", got)
	}
	c.tables = c.tables[:2]
	if _, err := (part{1, kvs.Prepare, 8, 0}).send(t, c.tables[0], 0, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.resolver(time.Hour).Overdue(0); !errors.Is(err, kvs.ErrMalformed) {
		t.Errorf("a list with a server that is not there: %v", err)
	}
}
