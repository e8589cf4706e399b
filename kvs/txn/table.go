// Package txn executes transactions above an engine: it locks their keys, stages their writes,
// and keeps its vote until the decision. It knows no network: a batch of parts goes in
// (kvs.Part), and their answers come out.
//
// A transaction of one server is one part, Run. One of several servers takes two rounds: a
// Prepare to each locks all keys, reads, stages the writes and votes; then a Commit or an
// Abort to each decides. All its locks are held when the last vote comes, so it takes effect
// between the two rounds, and transactions are strictly serializable.
//
// The lock table has 2^20 words. A key has the word of its hash; keys that share one only
// refuse each other more often. A word holds who locks it, and a version that each
// transaction that writes the word counts once. So every engine, with versions or without,
// tells the order of a key's writes. Locks are taken in the order of the words. A Run holds
// its locks only within its call: others spin until it is over, and it never waits for a
// prepared attempt, so nothing deadlocks. A prepared attempt holds its locks from its vote
// until its decision.
//
// With the policy nowait, a lock that a prepared attempt holds refuses the part. The others
// wait; then a table keeps lists of holders, and a Run is an attempt like others.
//
// An attempt is named by its owner and a number, which grows from attempt to attempt. The
// table keeps a decided one until the owner's mark passes it: then all servers have decided
// it, and nobody can ask for it. A decision without a vote is refused, one that comes twice
// is not applied twice, and no decision comes after another one.
//
// An owner may die between its rounds. No server then decides alone, as another one may have
// committed. Anybody may list the attempts that are Overdue, with the servers that take
// part, and Fence one on all of them: from then on its owner's own decision and a late
// Prepare are refused. Then what the servers tell is final: if one has committed, all settle
// on commit, else on abort. Two who do this at once come to the same decision.
package txn

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/kvs"
)

// Lease is how long an attempt is prepared before it is overdue.
const Lease = time.Second

// Table executes the transactions of a server. It is safe for concurrent use.
type Table struct {
	engine kvs.Engine
	policy Policy
	words  []atomic.Uint64 // see lock.go
	shift  int             // of a hash, to its word
	calls  sync.Pool       // of *call

	// Committed, unless nil, is told the operations of each part that is committed; they are valid
	// until it returns. It is set before the first Execute.
	Committed func(ops []kvs.Op)

	// Settled, unless nil, is told what an owner's attempt committed that somebody else settled;
	// it is then in no tally of Execute. It is set before the first Execute.
	Settled func(owner uint64, done *Tally)

	stripes  []stripe // of a policy that waits
	patience time.Duration

	mu     sync.RWMutex
	owners map[uint64]*owner // guarded by mu; an owner is never removed
}

// New returns a table whose transactions work on an engine. No other operation may change the
// engine's keys while transactions run.
func New(engine kvs.Engine, policy Policy) *Table { return newTable(engine, policy, wordBits) }

func newTable(engine kvs.Engine, policy Policy, bits int) *Table {
	t := &Table{engine: engine, policy: policy, patience: Patience, words: make([]atomic.Uint64, 1<<bits), shift: 64 - bits, owners: map[uint64]*owner{}}
	if policy.meets != nil {
		t.stripes = make([]stripe, stripes)
	}
	t.calls.New = func() any { return &call{table: t} }
	return t
}

// Limits of a table: the owners it knows, and the attempts of each that it keeps.
const (
	maxOwners = 1 << 16
	maxKept   = 1 << 20
)

// owner holds the attempts of an owner that are prepared, fenced, or decided and not below
// its mark.
type owner struct {
	id uint64

	mu       sync.Mutex
	mark     uint64
	attempts []*attempt // by number
	free     []*attempt
}

// state says what an attempt has done and what may decide it.
type state uint8

const (
	locking state = iota // its Prepare is under way
	barring              // likewise, and fenced
	voted
	fenced    // and voted
	barred    // fenced, and never prepared here
	committed // and applied
	aborted
)

// attempt is a prepared attempt, and its staged writes.
type attempt struct {
	number  uint64
	state   state
	since   time.Duration // when it voted, by the caller's clock
	parties []uint16
	locks   []lock
	age     uint64       // of its call
	hold    atomic.Int32 // see wait.go
	wake    chan struct{}
	ops     []kvs.Op // in data, as writes
	writes  []kvs.Op
	data    []byte
	done    Tally
}

// owner returns the owner with an id.
func (t *Table) owner(id uint64) (*owner, error) {
	t.mu.RLock()
	o := t.owners[id]
	t.mu.RUnlock()
	if o != nil {
		return o, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o = t.owners[id]; o == nil {
		if len(t.owners) >= maxOwners {
			return nil, fmt.Errorf("transactions of more than %d owners", maxOwners)
		}
		o = &owner{id: id}
		t.owners[id] = o
	}
	return o, nil
}

// find returns the attempt with a number, or nil, and its place among attempts.
func (o *owner) find(number uint64) (a *attempt, at int) {
	at = len(o.attempts)
	if at == 0 || o.attempts[at-1].number < number { // a new one
		return nil, at
	}
	at, found := slices.BinarySearchFunc(o.attempts, number, func(a *attempt, number uint64) int { return cmp.Compare(a.number, number) })
	if found {
		return o.attempts[at], at
	}
	return nil, at
}

// insert adds an attempt at a place that find returned.
func (o *owner) insert(number uint64, at int) *attempt {
	var a *attempt
	if n := len(o.free); n > 0 {
		a, o.free = o.free[n-1], o.free[:n-1]
	} else {
		a = new(attempt)
	}
	a.number, a.state, a.done = number, locking, Tally{}
	a.parties, a.locks, a.ops, a.writes, a.data = a.parties[:0], a.locks[:0], a.ops[:0], a.writes[:0], a.data[:0]
	o.attempts = slices.Insert(o.attempts, at, a)
	return a
}

// remove removes an attempt, and returns it.
func (o *owner) remove(number uint64) *attempt {
	a, at := o.find(number)
	o.attempts = slices.Delete(o.attempts, at, at+1)
	return a
}

// forget frees the decided attempts below the mark.
func (o *owner) forget(mark uint64) {
	o.mark = max(o.mark, mark)
	kept := o.attempts[:0]
	for i, a := range o.attempts {
		if a.number >= o.mark {
			kept = append(kept, o.attempts[i:]...)
			break
		}
		if a.state < barred { // its owner's mark is wrong
			kept = append(kept, a)
			continue
		}
		o.free = append(o.free, a)
	}
	clear(o.attempts[len(kept):])
	o.attempts = kept
}
