package txn

import (
	"slices"
	"sync"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs"
)

// Policy says what a part does about a lock that another attempt holds.
type Policy struct {
	name, description string
	meets             func(t *Table, a, holder *attempt) kvs.Status // nil: parts never wait
}

// Label returns the policy's name and description.
func (p Policy) Label() (name, description string) { return p.name, p.description }

// policies are the values of -policy, the default first. The ages are those of calls, not of
// transactions: a call is answered as a whole, so all its parts wait if one does. Each policy
// lets parts wait in one direction of age alone, so no cycle of calls waits (Rosenkrantz,
// Stearns and Lewis, "System level concurrency control for distributed database systems",
// TODS 1978). The age of all parts of a call is the same, and they refuse each other.
var policies = []Policy{
	{"nowait", "a lock that is held refuses the transaction", nil},
	{"waitdie", "an older call waits for the lock of a younger one; a younger one is refused", waitDie},
	{"woundwait", "an older call takes the lock of a younger one that has not voted, and is refused by one that has; a younger one waits", woundWait},
}

// PolicyNames are the names of the policies, the default first.
var PolicyNames = cli.Names(policies)

// PolicyUsage describes the policies.
func PolicyUsage() string { return cli.Usage(policies) }

// FindPolicy returns the policy of a name. The error names the flag.
func FindPolicy(name string) (Policy, error) { return cli.Find("-policy", name, policies) }

// Patience is how long the parts of a call wait, together. It bounds what the policies leave:
// a batch that is sent before the decisions of the one before it, and a writer behind readers
// that keep coming. It is far below the Lease.
const Patience = 100 * time.Millisecond

// hold is what an attempt's locks are, with a policy that waits.
type hold = int32

const (
	acquiring hold = iota
	locked         // all of this server, and its call is not answered
	final          // it has voted, or runs
	wounded        // an older one has taken its locks, or tells it to release them
)

// stripe holds who holds and who waits for some words of the table.
type stripe struct {
	mu      sync.Mutex
	holders []claim
	waiters []claim
}

type claim struct {
	by    *attempt
	word  uint32
	write bool
}

const stripes = 1 << 8

func waitDie(_ *Table, a, holder *attempt) kvs.Status {
	if a.age >= holder.age {
		return kvs.Died
	}
	return kvs.Done
}

func woundWait(_ *Table, a, holder *attempt) kvs.Status {
	switch {
	case a.age == holder.age:
		return kvs.Died
	case a.age > holder.age:
		return kvs.Done
	case holder.hold.CompareAndSwap(acquiring, wounded):
		holder.rouse()
	case holder.hold.CompareAndSwap(locked, wounded):
		return kvs.Wounded
	case holder.hold.Load() == final:
		return kvs.Conflict
	}
	return kvs.Done
}

// rouse wakes an attempt that waits.
func (a *attempt) rouse() {
	select {
	case a.wake <- struct{}{}:
	default: // it is awake
	}
}

// claimAll takes all locks of an attempt, or none, and waits for them as the policy says.
func (c *call) claimAll(a *attempt) kvs.Status {
	if a.wake == nil {
		a.wake = make(chan struct{}, 1)
	}
	a.age = c.age
	a.hold.Store(acquiring)
	for i := range a.locks {
		if s := c.claim(a, &a.locks[i]); s != kvs.Done {
			c.table.unclaim(a, a.locks[:i], false)
			return s
		}
	}
	return kvs.Done
}

// claim takes one lock.
func (c *call) claim(a *attempt, l *lock) kvs.Status {
	t := c.table
	s := &t.stripes[l.word%stripes]
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if a.hold.Load() == wounded {
			return kvs.Wounded
		}
		status, victim, held := kvs.Done, (*attempt)(nil), false
		for _, h := range s.holders {
			if h.word != l.word || !h.write && !l.write || status.Refuses() {
				continue
			}
			held = true
			if status = t.policy.meets(t, a, h.by); status == kvs.Wounded {
				status, victim = kvs.Done, h.by
			}
			if victim != nil {
				break
			}
		}
		switch {
		case victim != nil:
			s.mu.Unlock()
			t.unclaim(victim, victim.locks, false)
			s.mu.Lock()
		case status != kvs.Done:
			return status
		case !held:
			l.was = t.words[l.word].Load()
			s.holders = append(s.holders, claim{a, l.word, l.write})
			return kvs.Done
		case !c.wait(a, s, l):
			return kvs.Late
		}
	}
}

// wait waits until a lock of a stripe may be free, or the attempt is wounded; it reports false
// when the call has waited too long. The caller holds the stripe's mutex, which wait releases
// meanwhile.
func (c *call) wait(a *attempt, s *stripe, l *lock) bool {
	left := c.table.patience - c.waited
	if left <= 0 {
		return false
	}
	select {
	case <-a.wake: // of an earlier wait
	default:
	}
	s.waiters = append(s.waiters, claim{by: a, word: l.word})
	s.mu.Unlock()
	since := time.Now()
	if c.timer == nil {
		c.timer = time.NewTimer(left)
	} else {
		c.timer.Reset(left)
	}
	select {
	case <-a.wake:
	case <-c.timer.C:
	}
	c.timer.Stop()
	c.waited += time.Since(since)
	s.mu.Lock()
	s.waiters = without(s.waiters, a, l.word)
	return true
}

// unclaim frees locks of an attempt, and counts a version of each word that was written.
func (t *Table) unclaim(a *attempt, locks []lock, written bool) {
	for _, l := range locks {
		s := &t.stripes[l.word%stripes]
		s.mu.Lock()
		if written && l.write {
			t.words[l.word].Add(1)
		}
		s.holders = without(s.holders, a, l.word)
		for _, w := range s.waiters {
			if w.word == l.word {
				w.by.rouse()
			}
		}
		s.mu.Unlock()
	}
}

// without removes an attempt's claim on a word.
func without(claims []claim, a *attempt, word uint32) []claim {
	return slices.DeleteFunc(claims, func(c claim) bool { return c.by == a && c.word == word })
}

// lockAll takes all locks of an attempt, or none.
func (c *call) lockAll(a *attempt, briefly bool) kvs.Status {
	switch {
	case c.table.policy.meets != nil:
		return c.claimAll(a)
	case c.table.acquire(a.locks, briefly):
		return kvs.Done
	}
	return kvs.Conflict
}

// unlockAll frees them.
func (t *Table) unlockAll(a *attempt, briefly, written bool) {
	if t.policy.meets != nil {
		t.unclaim(a, a.locks, written)
	} else {
		t.release(a.locks, briefly, written)
	}
}

// vote is the end of a call: what it has prepared can no longer be wounded. An attempt that was
// is forgotten, and so answered.
func (c *call) vote() {
	for _, v := range c.votes {
		if v.attempt.hold.CompareAndSwap(locked, final) {
			continue
		}
		c.reply.Amend(v.at, byte(kvs.Wounded))
		c.tally.Refused++
		c.owner.mu.Lock()
		c.owner.remove(v.attempt.number) // not to use it again: its wounder may still read it
		c.owner.mu.Unlock()
	}
	clear(c.votes)
	c.votes = c.votes[:0]
}
