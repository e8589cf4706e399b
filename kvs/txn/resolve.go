package txn

import (
	"fmt"

	"kvlab/kvs"
)

// Attempt names an attempt that some servers have voted on.
type Attempt struct {
	Owner, Number uint64
	Parties       []uint16 // the servers that take part
}

// Resolver settles attempts that their owners leave undecided. Its owner is the id of who uses
// it, and Call executes a batch on a server; the reply is read before the next Call. It belongs
// to one goroutine.
type Resolver struct {
	Owner   uint64
	Servers int
	Call    func(server int, batch *kvs.Batch) (*kvs.Reply, error)

	batch kvs.Batch
}

// Overdue returns the attempts that a server lists as overdue.
func (r *Resolver) Overdue(server int) (overdue []Attempt, err error) {
	err = r.ask(server, []Attempt{{}}, kvs.Overdue, func(_ int, answer kvs.Answer) error {
		for {
			owner, more := answer.Next()
			if !more {
				return nil
			}
			a := Attempt{Owner: owner}
			a.Number, _ = answer.Next()
			for n, _ := answer.Next(); uint64(len(a.Parties)) < n; {
				party, ok := answer.Next()
				if !ok || party >= uint64(r.Servers) {
					return fmt.Errorf("%w reply: server %d lists an attempt on a server that is none of %d", kvs.ErrMalformed, server, r.Servers)
				}
				a.Parties = append(a.Parties, uint16(party))
			}
			overdue = append(overdue, a)
		}
	})
	return overdue, err
}

// Settle fences attempts, and then decides them, each on all servers that take part. It returns
// which are committed. After an error some may be undecided, and may be settled again.
func (r *Resolver) Settle(attempts []Attempt) (committed []bool, err error) {
	answers := make([][]kvs.Status, len(attempts))
	err = r.each(attempts, kvs.Fence, func(i int, answer kvs.Answer) error {
		answers[i] = append(answers[i], answer.Status)
		return nil
	})
	var decided [2][]Attempt
	for i := range attempts {
		committed = append(committed, Decide(answers[i]))
		step := 1
		if committed[i] {
			step = 0
		}
		decided[step] = append(decided[step], attempts[i])
	}
	for i, step := range []kvs.Step{kvs.SettleCommit, kvs.SettleAbort} {
		if err == nil {
			err = r.each(decided[i], step, func(int, kvs.Answer) error { return nil })
		}
	}
	return committed, err
}

// each sends a step about attempts to all servers that take part.
func (r *Resolver) each(attempts []Attempt, step kvs.Step, answered func(attempt int, answer kvs.Answer) error) error {
	for server := range r.Servers {
		var there []Attempt
		var numbers []int
		for i, a := range attempts {
			for _, party := range a.Parties {
				if int(party) == server {
					there, numbers = append(there, a), append(numbers, i)
				}
			}
		}
		err := r.ask(server, there, step, func(i int, answer kvs.Answer) error { return answered(numbers[i], answer) })
		if err != nil {
			return err
		}
	}
	return nil
}

// ask sends a step about attempts to a server.
func (r *Resolver) ask(server int, attempts []Attempt, step kvs.Step, answered func(i int, answer kvs.Answer) error) error {
	if len(attempts) == 0 {
		return nil
	}
	r.batch.Begin(kvs.Head{Owner: r.Owner})
	for _, a := range attempts {
		r.batch.Part(&kvs.Part{Step: step, Owner: a.Owner, Number: a.Number})
	}
	reply, err := r.Call(server, &r.batch)
	if err != nil {
		return err
	}
	results := reply.Results()
	for i := range attempts {
		answer, err := results.NextAnswer()
		if err == nil {
			err = answered(i, answer)
		}
		if err != nil {
			return err
		}
	}
	return results.End()
}
