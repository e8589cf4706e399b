package driver

import (
	"math/rand/v2"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/txn"
)

// transactor is the Transactor of kvlab's own servers: all that a round asks of a server is in
// a call, and the decisions on what several servers take part in are in another one.
type transactor struct {
	*txn.Coordinator
	conns    []Conn
	resolver txn.Resolver
	looked   time.Time // for overdue attempts

	votes, decisions []message // by server
	round            *Transactions
	keep             func(attempt, op int, result kvs.Result, version uint64) error
}

// message is a call to a server, and when its reply came.
type message struct {
	kvs.Call
	reply      kvs.Reply
	sent, came time.Time
}

// newTransactor returns the Transactor of a worker. Its owner's id is random, so that it differs
// from those of all workers of all clients of a server's life.
func newTransactor(conns []Conn) *transactor {
	owner := rand.Uint64()
	t := &transactor{Coordinator: txn.NewCoordinator(owner, len(conns), 0), conns: conns, looked: time.Now(),
		votes: make([]message, len(conns)), decisions: make([]message, len(conns))}
	for i := range conns {
		t.votes[i].Batch, t.votes[i].Reply = &t.Votes[i], &t.votes[i].reply
		t.decisions[i].Batch, t.decisions[i].Reply = &t.Decisions[i], &t.decisions[i].reply
	}
	t.keep = func(attempt, op int, result kvs.Result, version uint64) error {
		t.round.Results[t.round.Attempts[attempt].First+op] = Result{result, version}
		return nil
	}
	t.resolver = txn.Resolver{Owner: owner, Servers: len(conns), Call: t.call}
	return t
}

// Transact executes a round: a round trip if each attempt touches one server, else two. What
// another worker has fenced, and what others have left overdue, costs more of them.
func (t *transactor) Transact(round *Transactions) error {
	t.round = round
	defer func() { t.round = nil }()
	round.Results = append(round.Results[:0], make([]Result, len(round.Ops))...)
	round.Costs = append(round.Costs[:0], make([]Cost, len(t.conns))...)
	for i := range t.conns {
		t.votes[i].reply.Free()
	}
	t.Begin(round.Age, true)
	for _, a := range round.Attempts {
		t.Add(round.Ops[a.First:a.End], round.Places[a.First:a.End])
	}
	begun := time.Now()
	err := t.exchange(t.votes, func(server int, reply *kvs.Reply) error { return t.Voted(server, reply, t.keep) }, t.Lost)
	t.Decide() // after an error too: the other servers' locks are freed
	decided := t.exchange(t.decisions, t.Decided, func(int) {})
	if err == nil {
		err = decided
	}
	if err == nil {
		err = t.Settle(&t.resolver)
	}
	if err == nil && t.outcomes(begun) && time.Since(t.looked) > txn.Lease/2 {
		err = t.resolve()
	}
	return err
}

// exchange sends the messages that are not empty, waits for their replies, and reads these.
func (t *transactor) exchange(messages []message, read func(server int, reply *kvs.Reply) error, lost func(server int)) (first error) {
	for i := range messages {
		if m := &messages[i]; m.Batch.Len() > 0 {
			m.sent = time.Now()
			t.conns[i].Send(&m.Call)
		}
	}
	for i := range messages {
		m := &messages[i]
		if m.Batch.Len() == 0 {
			continue
		}
		err := t.conns[i].Wait(&m.Call)
		if m.came = time.Now(); err != nil {
			lost(i)
		} else {
			t.cost(i, m)
			err = read(i, m.Reply)
		}
		if err != nil && first == nil {
			first = &ServerError{i, err}
		}
	}
	return first
}

// cost adds a call to what the round cost.
func (t *transactor) cost(server int, m *message) {
	c := &t.round.Costs[server]
	c.Calls++
	c.Sent += uint64(m.Batch.Size())
	c.Received += uint64(m.Reply.Size())
	c.Took += m.came.Sub(m.sent)
	c.Served += m.Reply.Served
}

// outcomes sets the outcomes of the attempts, and reports whether one was refused by a lock.
func (t *transactor) outcomes(begun time.Time) (refused bool) {
	for i := range t.round.Attempts {
		a := &t.round.Attempts[i]
		a.Outcome, a.Why = t.Outcome(i)
		refused = refused || a.Outcome == txn.IsAborted
		a.Sent, a.Came = begun, time.Time{}
		places := t.round.Places[a.First:a.End]
		from := t.decisions
		if !slices.ContainsFunc(places, func(p uint16) bool { return p != places[0] }) {
			from = t.votes
		}
		for _, p := range places {
			if came := from[p].came; came.After(a.Came) {
				a.Came = came
			}
		}
	}
	return refused
}

// resolve settles what the servers list as overdue: its owner may be dead.
func (t *transactor) resolve() error {
	for server := range t.conns {
		overdue, err := t.resolver.Overdue(server)
		if err == nil {
			_, err = t.resolver.Settle(overdue)
		}
		if err != nil {
			return err
		}
	}
	t.looked = time.Now()
	return nil
}

// call makes a call of the resolver's. The decisions' calls have been read by then.
func (t *transactor) call(server int, batch *kvs.Batch) (*kvs.Reply, error) {
	m := message{Call: kvs.Call{Batch: batch, Reply: &t.decisions[server].reply, State: t.decisions[server].State}, sent: time.Now()}
	t.conns[server].Send(&m.Call)
	if err := t.conns[server].Wait(&m.Call); err != nil {
		return nil, &ServerError{server, err}
	}
	m.came, t.decisions[server].State = time.Now(), m.State
	t.cost(server, &m)
	return m.Reply, nil
}
