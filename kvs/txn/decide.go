package txn

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"kvlab/kvs"
)

// decide executes a decision, of the attempt's owner or after a fence.
func (c *call) decide() error {
	o, err := c.owner, error(nil)
	switch c.part.Step {
	case kvs.Fence, kvs.SettleCommit, kvs.SettleAbort:
		o, err = c.table.owner(c.part.Owner)
	}
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	a, at := o.find(c.part.Number)
	switch c.part.Step {
	case kvs.Fence:
		return c.fence(o, a, at)
	case kvs.Commit:
		c.answer(c.end(a, voted, true))
	case kvs.Abort:
		c.answer(c.end(a, voted, false))
	case kvs.SettleCommit:
		c.answer(c.end(a, fenced, true))
	case kvs.SettleAbort:
		c.answer(c.end(a, fenced, false))
	}
	return nil
}

// end commits or aborts an attempt, if it is in the state that permits it.
func (c *call) end(a *attempt, permits state, commit bool) kvs.Status {
	switch {
	case a == nil:
		return kvs.Absent
	case a.state == committed && !commit:
		return kvs.Committed
	case a.state == aborted && commit:
		return kvs.Aborted
	case a.state == committed || a.state == aborted: // again
		return kvs.Done
	case a.state == locking || a.hold.Load() == locked: // no vote has left: nobody can have decided
		return kvs.Absent
	case (a.state == barred || a.state == barring) && permits == fenced && !commit:
		return kvs.Done
	case (a.state == barred || a.state == barring) && permits == fenced:
		return kvs.Absent
	case a.state != permits && permits == voted:
		return kvs.Fenced
	case a.state != permits: // a settler must fence first
		return kvs.Voted
	}
	a.state = aborted
	if commit {
		a.state = committed
		c.scratch.Reset()
		c.table.engine.Apply(a.writes, &c.scratch)
		c.count(&a.done)
		c.committed(a.ops)
	}
	c.table.unlockAll(a, false, commit)
	a.locks = a.locks[:0]
	return kvs.Done
}

// count counts what a decision committed. What somebody else settles is its owner's.
func (c *call) count(done *Tally) {
	if c.part.Step == kvs.SettleCommit && c.table.Settled != nil {
		c.table.Settled(c.part.Owner, done)
		return
	}
	c.tally.add(done)
}

// fence keeps the owner of an attempt from deciding it, and tells the attempt's state.
func (c *call) fence(o *owner, a *attempt, at int) error {
	switch {
	case a == nil && c.part.Number < o.mark: // its owner knows that all have decided
		c.answer(kvs.Absent)
		return nil
	case a == nil && len(o.attempts) >= maxKept:
		return fmt.Errorf("owner %d has %d attempts without a decision: want at most %d", o.id, len(o.attempts), maxKept)
	case a == nil:
		a = o.insert(c.part.Number, at)
		a.state = barred
	}
	switch a.state {
	case locking:
		a.state = barring
	case voted:
		a.state = fenced
	}
	c.answer([...]kvs.Status{fenced: kvs.Voted, barred: kvs.Absent, barring: kvs.Absent, committed: kvs.Committed, aborted: kvs.Aborted}[a.state])
	return nil
}

// Decide returns whether an attempt is committed, given what all servers that take part
// answered to its Fence.
func Decide(answers []kvs.Status) (commit bool) { return slices.Contains(answers, kvs.Committed) }

// mostOverdue is how many attempts an answer lists at most.
const mostOverdue = 256

// overdue lists attempts that voted longer than the lease ago: owner, number, how many servers
// take part, and each of these.
func (c *call) overdue() {
	c.note = append(c.note[:0], byte(kvs.Done))
	c.table.mu.RLock()
	var owners []*owner
	for _, o := range c.table.owners {
		owners = append(owners, o)
	}
	c.table.mu.RUnlock()
	slices.SortFunc(owners, func(a, b *owner) int { return cmp.Compare(a.id, b.id) })
	n := 0
	for _, o := range owners {
		o.mu.Lock()
		for _, a := range o.attempts {
			if a.state != voted && a.state != fenced || c.now-a.since < Lease || n == mostOverdue {
				continue
			}
			n++
			for _, number := range [...]uint64{o.id, a.number, uint64(len(a.parties))} {
				c.note = binary.AppendUvarint(c.note, number)
			}
			for _, server := range a.parties {
				c.note = binary.AppendUvarint(c.note, uint64(server))
			}
		}
		o.mu.Unlock()
	}
	c.reply.Note(c.note)
}
