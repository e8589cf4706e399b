// Package service applies batches to an engine, each call once. It counts exactly
// the operations applied for each peer, and samples them.
package service

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/txn"
	"kvlab/metrics"
)

// Service is an engine and the exact counts of what each peer applied to it. It is
// safe for concurrent use.
type Service struct {
	engine   kvs.Engine
	durable  kvs.Durable // engine, if it is one; else nil
	instance string
	process  string
	sample   atomic.Pointer[Sample] // never nil

	resumed, hits atomic.Uint64 // see Retries

	placement placementCheck

	// Policy is that of transactions. It is set before the first connection.
	Policy txn.Policy

	transactions sync.Once
	table        *txn.Table // see transact
	began        time.Time
	owners       sync.Map // of transactions: from their ids to the *Conn of their last calls

	mu       sync.Mutex
	conns    map[*Conn]bool                      // open; guarded by mu
	closed   map[string]metrics.Counts           // by peer, of closed connections; guarded by mu
	strange  metrics.Counts                      // of third-party clients' closed connections; guarded by mu
	tallies  map[string]metrics.TransactionTally // likewise
	lanes    map[lane]carried                    // by closed connections; guarded by mu
	sessions map[sessionKey]*replyCache          // guarded by mu
}

// New returns a service over engine.
func New(engine kvs.Engine) *Service {
	name := rand.Text()
	s := &Service{engine: engine, instance: name, process: name, conns: map[*Conn]bool{}, closed: map[string]metrics.Counts{}, tallies: map[string]metrics.TransactionTally{}, lanes: map[lane]carried{}, sessions: map[sessionKey]*replyCache{}}
	s.durable, _ = engine.(kvs.Durable)
	s.sample.Store(new(Sample))
	return s
}

// Instance returns the service's random name: a restarted server has another one, because
// its store is empty, or the one that it is given with Continue.
func (s *Service) Instance() string { return s.instance }

// Process returns the service's own random name, which it keeps when it continues another one.
func (s *Service) Process() string { return s.process }

// Continue gives the service the name of an earlier one, whose keys its engine holds. It is
// called before the first connection.
func (s *Service) Continue(instance string) { s.instance = instance }

// Retries returns how many connections superseded another one of their session, and
// how many repeated calls were answered from the reply cache.
func (s *Service) Retries() (connections, calls uint64) {
	return s.resumed.Load(), s.hits.Load()
}

// Sample returns the current sample and starts another. Calls in progress may still
// add to the returned one.
func (s *Service) Sample() *Sample { return s.sample.Swap(new(Sample)) }

// Records returns the number of keys in the store; exact while no call writes.
func (s *Service) Records() int { return s.engine.Len() }

// Open opens a connection of the named peer.
func (s *Service) Open(peer string) *Conn { return s.open(&Conn{service: s, peer: peer}) }

// OpenThirdParty opens a connection of a client that is not the run's. Its operations are neither in
// Counts nor in a Sample.
func (s *Service) OpenThirdParty() *Conn { return s.open(&Conn{service: s, thirdParty: true}) }

func (s *Service) open(c *Conn) *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
	return c
}

// Conns returns the number of open connections.
func (s *Service) Conns() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Counts returns the numbers of operations that were applied for each peer so far.
func (s *Service) Counts() map[string]metrics.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	peers := maps.Clone(s.closed)
	for c := range s.conns {
		if !c.thirdParty {
			peers[c.peer] = peers[c.peer].Add(c.counts())
		}
	}
	return peers
}

// ThirdParties returns the number of operations that were applied for third-party clients
// so far.
func (s *Service) ThirdParties() metrics.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.strange
	for c := range s.conns {
		if c.thirdParty {
			sum = sum.Add(c.counts())
		}
	}
	return sum
}

// Conn executes one connection's calls. It is safe for concurrent use.
type Conn struct {
	service    *Service
	peer       string
	thirdParty bool

	// Lane is the peer's number for the connection, below MaxLanes, and Protocol what both
	// ends agreed on. They are set before the first call.
	Lane     int
	Protocol metrics.Protocol

	// Dedup makes replies send a repeated value once. It is set before the first
	// call.
	Dedup bool

	// Versions makes BatchPutGet take compact batches, and give replies versions. It is set
	// before the first call, and only if the engine has versions.
	Versions bool

	// Transactions permits batches of transactions. It is set before the first call, and only
	// if the engine is in memory.
	Transactions bool

	mu   sync.Mutex
	done metrics.Counts           // guarded by mu
	keys uint64                   // likewise; see metrics.Sessions
	txns metrics.TransactionTally // likewise

	// Of a session.
	cache      *replyCache // nil without a session
	session    *Session
	superseded atomic.Bool
	close      func()        // closes the connection
	detached   chan struct{} // closed by detach
}

// Close closes the connection and keeps its counts. No call may be in progress.
func (c *Conn) Close() {
	s := c.service
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns[c] {
		delete(s.conns, c)
		if c.thirdParty {
			s.strange = s.strange.Add(c.counts())
			return
		}
		c.leave()
		if c.cache != nil {
			s.detach(c)
		}
	}
}

// leave keeps the counts. The caller holds s.mu.
func (c *Conn) leave() {
	s := c.service
	s.closed[c.peer] = s.closed[c.peer].Add(c.counts())
	s.tallies[c.peer] = s.tallies[c.peer].Add(c.tally())
	s.lanes[c.lane()] = s.lanes[c.lane()].add(c.carried())
}

func (c *Conn) counts() metrics.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// count adds what a call applied.
func (c *Conn) count(done *metrics.Counts, keys uint64) {
	c.mu.Lock()
	c.done.Accumulate(done)
	c.keys += keys
	c.mu.Unlock()
}

// chunk is how many operations an engine in memory gets at a time: enough to overlap their
// cache misses, few enough that the decoded operations (56 bytes each) stay in the
// first-level cache.
const chunk = 256

var chunks = sync.Pool{New: func() any { return new([chunk]kvs.Op) }}

// wholes are the decoded operations of whole calls, for a durable engine.
var wholes = sync.Pool{New: func() any { return new([]kvs.Op) }}

// ErrNotDurable is wrapped by the error of a call that was applied, and is not as durable as
// the engine promises. The connection must be closed without an answer.
var ErrNotDurable = errors.New("not durable")

// account is what a call has applied so far.
type account struct {
	conn         *Conn
	picker       picker
	ops          [kvs.Kinds]uint64
	keys         uint64
	hits, misses int
}

func (c *Conn) begin() account {
	if c.thirdParty {
		return account{conn: c, picker: picker{skip: math.MaxInt}}
	}
	return account{conn: c, picker: newPicker(c.service.sample.Load())}
}

// apply applies a chunk of operations at most.
func (a *account) apply(ops []kvs.Op, reply *kvs.Reply) error {
	a.conn.service.engine.Apply(ops, reply)
	return a.count(ops, reply)
}

// countBits is how many bits count the operations of a kind in a chunk. The arrays do not
// compile if a chunk is too large for them, or the counts of all kinds for 64 bits.
const countBits = 9

var (
	_ [1<<countBits - 1 - chunk]struct{}
	_ [64/countBits - kvs.Kinds]struct{}
)

// count counts operations that were applied, a chunk at most, and samples them.
func (a *account) count(ops []kvs.Op, reply *kvs.Reply) error {
	a.picker.pick(ops)
	// Most operations are of one kind, and incrementing its counter in memory waits for the
	// increment before. Therefore a chunk's counts are in one register.
	packed, keys := uint64(0), uint64(0)
	for i := range ops {
		op := &ops[i]
		packed += 1 << (countBits * op.Kind & 63)
		keys += bits.RotateLeft64(route.Word(op.Key), int(op.Kind))
	}
	a.keys += keys - keysOfParts(ops, packed)
	for kind := range a.ops {
		a.ops[kind] += packed >> (countBits * kind) & (1<<countBits - 1)
	}
	a.hits, a.misses = reply.Hits, reply.Misses
	if reply.Excess || reply.Size() > kvs.MaxBody {
		return fmt.Errorf("the reply is too large: at most %d bytes", kvs.MaxBody)
	}
	return nil
}

// keysOfParts returns the part of a chunk's sum that belongs to the parts of scans, of which
// packed has the number.
func keysOfParts(ops []kvs.Op, packed uint64) (keys uint64) {
	if packed>>(countBits*kvs.ScanPart)&(1<<countBits-1) == 0 {
		return 0
	}
	for i := range ops {
		if op := &ops[i]; op.Kind == kvs.ScanPart {
			keys += bits.RotateLeft64(route.Word(op.Key), int(op.Kind))
		}
	}
	return keys
}

// commit applies all operations of a call to a durable engine, and waits until what they
// wrote and read is durable.
func (a *account) commit(ops []kvs.Op, reply *kvs.Reply) error {
	durable := a.conn.service.durable
	durable.Apply(ops, reply)
	for some := range slices.Chunk(ops, chunk) {
		if err := a.count(some, reply); err != nil {
			return err
		}
	}
	if err := durable.Commit(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotDurable, err)
	}
	return nil
}

// commitBatch decodes a batch and commits it.
func (a *account) commitBatch(batch *kvs.Batch, reply *kvs.Reply) error {
	ops := wholes.Get().(*[]kvs.Op)
	defer wholes.Put(ops)
	*ops = slices.Grow((*ops)[:0], batch.Len()+1)
	cursor := batch.Ops()
	n, err := cursor.Next((*ops)[:batch.Len()+1]) // one more than there are: Next looks for the end
	if err != nil {
		return err
	}
	return a.commit((*ops)[:n], reply)
}

// end counts the call. It is deferred, and makes a panic the call's error.
func (a *account) end(all int, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
	if *err != nil {
		*err = fmt.Errorf("apply a batch of %d operations: %w", all, *err)
	}
	done := metrics.CountsOf(a.ops, uint64(a.hits), uint64(a.misses), 1)
	a.conn.count(&done, a.keys)
}

// BatchPutGet applies a batch and fills reply with one result for each operation, in
// order, or one for each part and operation of transactions that was executed. It is the
// store's one remote method. A malformed batch, a reply of more than
// MaxBody bytes or a panic in the engine is an error: the effect of the batch is then
// unknown, as after ErrNotDurable. Operations that the engine did apply are counted.
func (c *Conn) BatchPutGet(batch *kvs.Batch, reply *kvs.Reply) (err error) {
	reply.Reset()
	if batch.Transactional() {
		return c.transact(batch, reply)
	}
	if c.Dedup {
		reply.Dedup(batch.Len())
		defer reply.EndDedup()
	}
	call := c.begin()
	defer call.end(batch.Len(), &err)
	if c.Versions {
		return call.applyCompact(batch, reply)
	}
	if c.service.durable != nil {
		return call.commitBatch(batch, reply)
	}
	scratch := chunks.Get().(*[chunk]kvs.Op)
	defer chunks.Put(scratch)
	for cursor := batch.Ops(); ; {
		n, err := cursor.Next(scratch[:])
		if n > 0 {
			if tooLarge := call.apply(scratch[:n], reply); err == nil {
				err = tooLarge
			}
		}
		if err != nil || n < chunk {
			return err
		}
	}
}

// Apply does what BatchPutGet does, for a gateway that has decoded the operations itself.
func (c *Conn) Apply(ops []kvs.Op, reply *kvs.Reply) (err error) {
	reply.Reset()
	call := c.begin()
	defer call.end(len(ops), &err)
	if c.service.durable != nil {
		return call.commit(ops, reply)
	}
	for some := range slices.Chunk(ops, chunk) {
		if err := call.apply(some, reply); err != nil {
			return err
		}
	}
	return nil
}
