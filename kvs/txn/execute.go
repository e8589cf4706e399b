package txn

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/route"
)

// Tally counts what was committed.
type Tally struct {
	Ops          [kvs.Kinds]uint64
	Hits, Misses uint64
	Keys         uint64  // the sum of the keys, as service.Conn has it
	Runs         uint64  // whole transactions
	Parts        uint64  // committed parts of others
	Shares       float64 // of the commits: 1 of a Run, and of a part one over its parties
	Refused      uint64  // parts that were refused, by a lock or a fence
}

func (t *Tally) add(u *Tally) {
	for kind := range t.Ops {
		t.Ops[kind] += u.Ops[kind]
	}
	t.Hits += u.Hits
	t.Misses += u.Misses
	t.Keys += u.Keys
	t.Runs += u.Runs
	t.Parts += u.Parts
	t.Shares += u.Shares
	t.Refused += u.Refused
}

// count counts operations and what a reply has found since it had some hits and misses.
func (t *Tally) count(ops []kvs.Op, reply *kvs.Reply, hits, misses int) {
	for i := range ops {
		t.Ops[ops[i].Kind]++
		t.Keys += bits.RotateLeft64(route.Word(ops[i].Key), int(ops[i].Kind))
	}
	t.Hits += uint64(reply.Hits - hits)
	t.Misses += uint64(reply.Misses - misses)
}

// call is the state of an Execute. It is reused.
type call struct {
	table *Table
	owner *owner
	reply *kvs.Reply
	now   time.Duration
	age   uint64
	tally Tally

	part    kvs.Part
	ops     []kvs.Op
	words   []uint32 // of the keys of ops
	self    attempt  // of a Run
	note    []byte
	gets    []kvs.Op // of Prepare
	scratch kvs.Reply

	// With a policy that waits.
	votes  []vote // what it has prepared
	waited time.Duration
	timer  *time.Timer
}

// vote is a prepared attempt, and where the answer to it is in the reply.
type vote struct {
	attempt *attempt
	at      int
}

// Execute executes the parts of a batch in order, and appends their answers to reply, which
// the caller has Reset. now is a clock that never goes back. After an error, which wraps
// kvs.ErrMalformed or is about a limit, the parts before it are executed, and their answers
// are lost. The tally is of what was committed, in any case.
func (t *Table) Execute(batch *kvs.Batch, reply *kvs.Reply, now time.Duration) (Tally, error) {
	head, parts := batch.Parts()
	o, err := t.owner(head.Owner)
	if err != nil {
		return Tally{}, err
	}
	c := t.calls.Get().(*call)
	defer t.calls.Put(c)
	c.owner, c.reply, c.now, c.age, c.tally, c.waited = o, reply, now, head.Age, Tally{}, 0
	o.mu.Lock()
	o.forget(head.Mark)
	o.mu.Unlock()
	for more := true; more && err == nil; {
		if c.ops, more, err = parts.Next(&c.part, c.ops); more {
			err = c.execute()
		}
	}
	c.vote()
	c.owner, c.reply = nil, nil
	clear(c.ops)
	return c.tally, err
}

// execute executes one part.
func (c *call) execute() error {
	switch c.part.Step {
	case kvs.Run:
		c.run()
	case kvs.Prepare:
		return c.prepare()
	case kvs.Overdue:
		c.overdue()
	default:
		return c.decide()
	}
	return nil
}

// answer appends a status alone.
func (c *call) answer(s kvs.Status) {
	if s.Refuses() && c.part.Step <= kvs.Prepare {
		c.tally.Refused++
	}
	c.note = append(c.note[:0], byte(s))
	c.reply.Note(c.note)
}

// done appends Done and the versions of the operations, given the locks. It returns where the
// status is.
func (c *call) done(locks []lock) (at int) {
	c.note = append(c.note[:0], byte(kvs.Done))
	for i := range c.ops {
		c.note = binary.AppendUvarint(c.note, versionOf(locks, c.ops[i].Kind, c.words[i]))
	}
	return c.reply.Note(c.note)
}

// want sets the words of the operations, and returns the locks that they need.
func (c *call) want(locks []lock) []lock {
	c.words = c.words[:0]
	for i := range c.ops {
		c.words = append(c.words, c.table.word(c.ops[i].Key))
	}
	return locksOf(locks[:0], c.ops, c.words)
}

// run executes a whole transaction.
func (c *call) run() {
	t, a := c.table, &c.self
	a.locks = c.want(a.locks)
	if s := c.lockAll(a, true); s != kvs.Done {
		c.answer(s)
		return
	}
	if t.policy.meets != nil && !a.hold.CompareAndSwap(acquiring, final) {
		t.unlockAll(a, true, false)
		c.answer(kvs.Wounded)
		return
	}
	defer t.unlockAll(a, true, true) // after a panic of the engine too
	c.done(a.locks)
	hits, misses := c.reply.Hits, c.reply.Misses
	t.engine.Apply(c.ops, c.reply)
	c.tally.count(c.ops, c.reply, hits, misses)
	c.tally.Runs++
	c.tally.Shares++
	c.committed(c.ops)
}

// committed tells what a part that is committed has done.
func (c *call) committed(ops []kvs.Op) {
	if c.table.Committed != nil {
		c.table.Committed(ops)
	}
}

// prepare locks a part's keys, reads, stages the writes, and votes.
func (c *call) prepare() error {
	o, t := c.owner, c.table
	a, err := c.open()
	if a == nil {
		return err
	}
	a.locks = c.want(a.locks)
	s := c.lockAll(a, false)
	if s == kvs.Done && t.policy.meets != nil && !a.hold.CompareAndSwap(acquiring, locked) {
		t.unlockAll(a, false, false)
		s = kvs.Wounded
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case a.state == barring: // fenced while it waited
		a.state = barred
		if s == kvs.Done {
			t.unlockAll(a, false, false)
		}
		c.answer(kvs.Fenced)
		return nil
	case s != kvs.Done:
		o.free = append(o.free, o.remove(a.number))
		c.answer(s)
		return nil
	}
	a.state = voted
	at := c.done(a.locks)
	if t.policy.meets != nil {
		c.votes = append(c.votes, vote{a, at})
	}
	hits, misses := c.reply.Hits, c.reply.Misses
	c.read()
	a.done.count(c.ops, c.reply, hits, misses)
	a.done.Parts, a.done.Shares = 1, 1/float64(max(1, len(a.parties)))
	a.stage(c.ops)
	return nil
}

// open returns a new attempt, which nobody but a fence touches before the vote. It returns nil
// if it has answered, or with an error.
func (c *call) open() (*attempt, error) {
	o := c.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	a, at := o.find(c.part.Number)
	switch {
	case a != nil && a.state == barred:
		c.answer(kvs.Fenced)
		return nil, nil
	case a != nil || c.part.Number < o.mark:
		return nil, fmt.Errorf("%w batch: attempt %d of owner %d is prepared again", kvs.ErrMalformed, c.part.Number, o.id)
	case len(o.attempts) >= maxKept:
		return nil, fmt.Errorf("owner %d has %d attempts without a decision: want at most %d", o.id, len(o.attempts), maxKept)
	}
	a = o.insert(c.part.Number, at)
	a.since, a.parties = c.now, append(a.parties, c.part.Parties...)
	return a, nil
}

// read appends the results of operations whose writes are not applied yet.
func (c *call) read() {
	c.gets = c.gets[:0]
	for i := range c.ops {
		op := &c.ops[i]
		own := OwnWrite(c.ops[:i], op.Key)
		if own == nil && op.Kind.Reads() {
			c.gets = append(c.gets, kvs.Op{Kind: kvs.Get, Key: op.Key})
			continue
		}
		c.get(c.reply)
		there, value := own != nil && own.Kind != kvs.Delete, []byte(nil)
		if there {
			value = own.Value
		} else if own == nil && op.Kind == kvs.Delete {
			c.gets = append(c.gets, kvs.Op{Kind: kvs.Get, Key: op.Key})
			c.scratch.Reset()
			c.get(&c.scratch)
			there = c.scratch.Hits > 0
		}
		c.reply.Answer(op.Kind, value, there)
	}
	c.get(c.reply)
}

// get executes the Gets that are collected.
func (c *call) get(reply *kvs.Reply) {
	if len(c.gets) > 0 {
		c.table.engine.Apply(c.gets, reply)
		c.gets = c.gets[:0]
	}
}

// OwnWrite returns the last of some operations that writes a key; nil without one.
func OwnWrite(ops []kvs.Op, key []byte) *kvs.Op {
	for i := len(ops) - 1; i >= 0; i-- {
		if writes(ops[i].Kind) && bytes.Equal(ops[i].Key, key) {
			return &ops[i]
		}
	}
	return nil
}

// stage copies the operations, and what they write.
func (a *attempt) stage(ops []kvs.Op) {
	for i := range ops {
		op := &ops[i]
		at := len(a.data)
		a.data = append(append(a.data, op.Key...), op.Value...)
		// append may move the data: what was copied before stays valid where it was.
		key := at + len(op.Key)
		staged := kvs.Op{Kind: op.Kind, Key: a.data[at:key:key], Value: a.data[key:len(a.data):len(a.data)]}
		a.ops = append(a.ops, staged)
		if staged.Kind == kvs.ReadModifyWrite {
			staged.Kind = kvs.Put // it has read
		}
		if writes(staged.Kind) {
			a.writes = append(a.writes, staged)
		}
	}
}
