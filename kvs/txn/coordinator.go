package txn

import (
	"fmt"
	"slices"

	"kvlab/kvs"
)

// Coordinator is the client's part of the transactions of one worker, an owner. It takes the
// rounds' batches apart from the network: the worker sends Votes to each server and gives
// their replies to Voted or Lost; then it calls Decide, and does the same with Decisions and
// Decided. It is reused for later rounds, and belongs to one goroutine.
type Coordinator struct {
	Votes, Decisions []kvs.Batch // of each server; an empty one is not sent

	owner, number uint64 // number is the last attempt's
	attempts      []coordinated
	voters        [][]int32 // of each server, the attempts in its batch of votes
	deciders      [][]int32
	places        []uint16 // the servers of all attempts' operations
	parties       []uint16
}

// coordinated is an attempt of the round.
type coordinated struct {
	number       uint64
	first, ops   int32 // its operations' places
	alone        bool  // it is a Run
	status       kvs.Status
	lost         bool // no answer to a Run, or to a Commit
	acknowledged bool // a server has committed it
	fenced       bool // a server did not, as somebody else decides there
}

// Outcome is the outcome of an attempt.
type Outcome uint8

// The outcomes. An attempt without one may be committed or not, and may be settled later.
const (
	IsCommitted Outcome = iota
	IsAborted
	IsUnknown
)

// NewCoordinator returns the coordinator of an owner's transactions over some servers. The owner
// has no attempt with a number up to number.
func NewCoordinator(owner uint64, servers int, number uint64) *Coordinator {
	return &Coordinator{
		owner: owner, number: number,
		Votes: make([]kvs.Batch, servers), Decisions: make([]kvs.Batch, servers),
		voters: make([][]int32, servers), deciders: make([][]int32, servers),
	}
}

// Begin begins a round. All servers have answered the decisions of the round before, or known
// is false: then they keep its attempts. The age is for policies that wait: it is that of the
// oldest transaction of the round, and differs from those of other owners' rounds.
func (c *Coordinator) Begin(age uint64, known bool) {
	mark := c.number + 1
	if !known && len(c.attempts) > 0 {
		mark = c.attempts[0].number
	}
	head := kvs.Head{Owner: c.owner, Mark: mark, Age: age}
	for i := range c.Votes {
		c.Votes[i].Begin(head)
		c.Decisions[i].Begin(head)
		c.voters[i], c.deciders[i] = c.voters[i][:0], c.deciders[i][:0]
	}
	c.attempts, c.places = c.attempts[:0], c.places[:0]
}

// Add adds an attempt of a transaction to the round, and returns its number in the round, from
// 0. ops are its operations, whose values no other attempt writes, and places their servers.
func (c *Coordinator) Add(ops []kvs.Op, places []uint16) int {
	c.number++
	a := coordinated{number: c.number, first: int32(len(c.places)), ops: int32(len(ops))}
	c.places = append(c.places, places...)
	part := kvs.Part{Step: kvs.Prepare, Number: a.number, Parties: c.partiesOf(places)}
	if a.alone = len(c.parties) == 1; a.alone {
		part.Step = kvs.Run
	}
	for _, server := range c.parties {
		part.Ops = 0
		for _, place := range places {
			if place == server {
				part.Ops++
			}
		}
		batch := &c.Votes[server]
		batch.Part(&part)
		for i := range ops {
			if places[i] != server {
				continue
			}
			switch op := &ops[i]; {
			case op.Kind.Carries():
				batch.Append(op.Kind, op.Key, op.Value)
			case op.Kind == kvs.Delete:
				batch.Delete(op.Key)
			default:
				batch.Get(op.Key)
			}
		}
		c.voters[server] = append(c.voters[server], int32(len(c.attempts)))
	}
	c.attempts = append(c.attempts, a)
	return len(c.attempts) - 1
}

// Voted reads a server's reply to its votes, and calls each for the result and the version of
// each operation that the server did not refuse. The error says that the reply is not one to
// these votes.
func (c *Coordinator) Voted(server int, reply *kvs.Reply, each func(attempt, op int, result kvs.Result, version uint64) error) error {
	results := reply.Results()
	for _, i := range c.voters[server] {
		answer, err := results.NextAnswer()
		if err != nil {
			return err
		}
		a := &c.attempts[i]
		if answer.Status != kvs.Done && !answer.Status.Refuses() || answer.Status == kvs.Done && !answer.Follows() {
			return fmt.Errorf("%w reply: the vote on attempt %d is %s", kvs.ErrMalformed, a.number, answer.Status)
		}
		if answer.Status != kvs.Done {
			a.status = answer.Status
		}
		for op := range a.ops {
			if int(c.places[a.first+op]) != server || !answer.Follows() {
				continue
			}
			version, ok := answer.Next()
			result, err := results.Next()
			if err == nil && !ok {
				err = fmt.Errorf("%w reply: attempt %d has fewer versions than operations", kvs.ErrMalformed, a.number)
			}
			if err == nil && answer.Status == kvs.Done {
				err = each(int(i), int(op), result, version)
			}
			if err != nil {
				return err
			}
		}
	}
	return results.End()
}

// Lost says that a server's votes got no reply. What it should only have prepared is aborted:
// no server has committed it. Whether it ran a Run is unknown.
func (c *Coordinator) Lost(server int) {
	for _, i := range c.voters[server] {
		if a := &c.attempts[i]; a.alone {
			a.lost = true
		} else {
			a.status = kvs.Late
		}
	}
}

// Decide fills Decisions: a Commit for what no server refused, and an Abort for the rest. It
// goes to every server that was asked to vote.
func (c *Coordinator) Decide() {
	for server := range c.Votes {
		for _, i := range c.voters[server] {
			a := &c.attempts[i]
			if a.alone {
				continue
			}
			part := kvs.Part{Step: kvs.Commit, Number: a.number}
			if a.status != kvs.Done {
				part.Step = kvs.Abort
			} else {
				a.lost = true // until a server acknowledges it
			}
			c.Decisions[server].Part(&part)
			c.deciders[server] = append(c.deciders[server], i)
		}
	}
}

// Decided reads a server's reply to its decisions. One Done commits an attempt; a resolver may
// have settled it before, and then its outcome is the one that the server tells.
func (c *Coordinator) Decided(server int, reply *kvs.Reply) error {
	results := reply.Results()
	for _, i := range c.deciders[server] {
		answer, err := results.NextAnswer()
		if err != nil {
			return err
		}
		switch a := &c.attempts[i]; {
		case a.status != kvs.Done: // an Abort
		case answer.Status == kvs.Done:
			a.acknowledged = true
		case answer.Status == kvs.Fenced:
			a.fenced = true
		case answer.Status == kvs.Aborted:
			a.status = kvs.Fenced
		}
	}
	return results.End()
}

// Outcome returns the outcome of an attempt, and why it was refused; Done if it was not.
func (c *Coordinator) Outcome(attempt int) (Outcome, kvs.Status) {
	switch a := &c.attempts[attempt]; {
	case a.acknowledged:
		return IsCommitted, kvs.Done
	case a.status != kvs.Done:
		return IsAborted, a.status
	case a.lost:
		return IsUnknown, kvs.Done
	default:
		return IsCommitted, kvs.Done
	}
}

// Settle has r settle the attempts that somebody else has fenced on a server before their Commit
// came. Then their outcomes are known, and the same on all servers: these may forget them.
func (c *Coordinator) Settle(r *Resolver) error {
	var unknown []Attempt
	var which []int
	for i := range c.attempts {
		a := &c.attempts[i]
		if !a.fenced {
			continue
		}
		which = append(which, i)
		unknown = append(unknown, Attempt{c.owner, a.number, slices.Clone(c.partiesOf(c.places[a.first : a.first+a.ops]))})
	}
	committed, err := r.Settle(unknown)
	for i, at := range which {
		if a := &c.attempts[at]; err == nil && committed[i] {
			a.acknowledged = true
		} else if err == nil {
			a.status = kvs.Fenced
		}
	}
	return err
}

// partiesOf returns the servers among places, in order, in memory that it uses again.
func (c *Coordinator) partiesOf(places []uint16) []uint16 {
	c.parties = c.parties[:0]
	for _, server := range places {
		if at, found := slices.BinarySearch(c.parties, server); !found {
			c.parties = slices.Insert(c.parties, at, server)
		}
	}
	return c.parties
}
