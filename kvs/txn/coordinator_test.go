package txn

import (
	"errors"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// voting returns a coordinator of two servers whose round has a transaction of the first and
// one of both, and the replies to its votes.
func voting(t *testing.T, tables []*Table) (c *Coordinator, votes []kvs.Reply) {
	c = NewCoordinator(7, 2, 0)
	c.Begin(1, true)
	c.Add([]kvs.Op{{Kind: kvs.Put, Key: []byte("a"), Value: []byte("1")}}, []uint16{0})
	c.Add([]kvs.Op{{Kind: kvs.Put, Key: []byte("b"), Value: []byte("2")}, {Key: []byte("c")}}, []uint16{1, 0})
	votes = make([]kvs.Reply, 2)
	for server := range tables {
		votes[server].Reset()
		if _, err := tables[server].Execute(&c.Votes[server], &votes[server], 0); err != nil {
			t.Fatal(err)
		}
	}
	return c, votes
}

func pair() []*Table {
	return []*Table{newTable(engine.NewMutex(), policies[0], 4), newTable(engine.NewMutex(), policies[0], 4)}
}

// What a lost reply leaves of each transaction.
func TestLostReplies(t *testing.T) {
	tests := []struct {
		name           string
		vote, decision int // the server whose reply is lost; -1 for none
		run, both      Outcome
		commits        int // parts that the servers commit, in all
	}{
		{"none", -1, -1, IsCommitted, IsCommitted, 2},
		{"the votes of the one that runs", 0, -1, IsUnknown, IsAborted, 0},
		{"the votes of the other", 1, -1, IsCommitted, IsAborted, 0},
		{"a decision", -1, 0, IsCommitted, IsCommitted, 2},
		{"both decisions", -1, 2, IsCommitted, IsUnknown, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tables := pair()
			c, votes := voting(t, tables)
			for server := range tables {
				if server == test.vote {
					c.Lost(server)
				} else if err := c.Voted(server, &votes[server], func(int, int, kvs.Result, uint64) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			c.Decide()
			committed := 0
			for server, table := range tables {
				var reply kvs.Reply
				reply.Reset()
				tally, err := table.Execute(&c.Decisions[server], &reply, 0)
				if err == nil && server != test.decision && test.decision < len(tables) {
					err = c.Decided(server, &reply)
				}
				if err != nil {
					t.Fatal(err)
				}
				committed += int(tally.Parts)
			}
			run, _ := c.Outcome(0)
			both, _ := c.Outcome(1)
			if run != test.run || both != test.both || committed != test.commits {
				t.Errorf("outcomes %d and %d, %d parts committed; want %d, %d and %d", run, both, committed, test.run, test.both, test.commits)
			}
		})
	}
}

// A reply to other votes is refused.
func TestBadVotes(t *testing.T) {
	for name, fill := range map[string]func(*kvs.Reply){
		"no answer":           func(r *kvs.Reply) {},
		"no results":          func(r *kvs.Reply) { r.Note([]byte{byte(kvs.Done), 1}); r.Note([]byte{byte(kvs.Done), 1}) },
		"no version":          func(r *kvs.Reply) { r.Note([]byte{byte(kvs.Done)}); r.Stored(); r.Note([]byte{byte(kvs.Conflict)}) },
		"a decision's answer": func(r *kvs.Reply) { r.Note([]byte{byte(kvs.Committed)}); r.Note([]byte{byte(kvs.Conflict)}) },
		"an answer more":      func(r *kvs.Reply) { r.Note([]byte{1}); r.Note([]byte{1}); r.Note([]byte{1}) },
	} {
		c, _ := voting(t, pair())
		var reply kvs.Reply
		reply.Reset()
		fill(&reply)
		if err := c.Voted(0, &reply, func(int, int, kvs.Result, uint64) error { return nil }); !errors.Is(err, kvs.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An owner whose Commit one server executes, and another one refuses because somebody has fenced
// the attempt there, settles it before the servers may forget it: else who has fenced it would
// hear of no commit, and abort the other half.
func TestCommitOfFenced(t *testing.T) {
	c := newCluster(t, policies[0], 2, 2, 4)
	owner := NewCoordinator(1, 2, 0)
	ops := []kvs.Op{{Kind: kvs.Put, Key: []byte("a"), Value: []byte("1")}, {Kind: kvs.Put, Key: []byte("b"), Value: []byte("2")}}
	owner.Begin(0, true)
	owner.Add(ops, []uint16{0, 1})
	var reply kvs.Reply
	for server := range c.tables {
		c.execute(server, &owner.Votes[server], &reply)
		if err := owner.Voted(server, &reply, func(int, int, kvs.Result, uint64) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	owner.Decide()
	parts := [2]uint64{}
	for _, server := range []int{1, 0} {
		if server == 0 { // in between
			if got, err := (part{2, kvs.Fence, 1, 0}).send(t, c.tables[0], 0, 0); err != nil || got != kvs.Voted {
				t.Fatalf("a fence: %s, %v", got, err)
			}
		}
		parts[server] = c.execute(server, &owner.Decisions[server], &reply).Parts
		if err := owner.Decided(server, &reply); err != nil {
			t.Fatal(err)
		}
	}
	c.tables[0].Settled = func(_ uint64, done *Tally) { parts[0] += done.Parts }
	if err := owner.Settle(c.resolver(0)); err != nil {
		t.Fatal(err)
	}
	if outcome, _ := owner.Outcome(0); outcome != IsCommitted || parts != [2]uint64{1, 1} {
		t.Errorf("outcome %d, parts %v; want a commit on both servers", outcome, parts)
	}
	owner.Begin(0, true)
	owner.Add(ops[:1], []uint16{0})
	owner.Add(ops[1:], []uint16{1})
	for server := range c.tables {
		c.execute(server, &owner.Votes[server], &reply)
	}
	if committed, err := c.resolver(0).Settle([]Attempt{{1, 1, []uint16{0, 1}}}); err != nil {
		t.Errorf("the other one settles it: %v, %v", committed, err)
	}
	if parts != [2]uint64{1, 1} {
		t.Errorf("then the servers have %v parts, want one each", parts)
	}
	c.free()
}
