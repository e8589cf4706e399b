// Package service is a server's share of the store: it applies batches, each call
// once, counts exactly what each peer had applied, and samples the operations.
package service

import (
	"crypto/rand"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
)

// Counts are exact numbers of operations that were applied.
type Counts struct {
	Ops    [kvs.Kinds]uint64
	Hits   uint64 // operations that read and found their key
	Misses uint64 // operations that read and did not
	Calls  uint64
}

// Fields returns the fields in their order.
func (c Counts) Fields() (ops [kvs.Kinds]uint64, hits, misses, calls uint64) {
	return c.Ops, c.Hits, c.Misses, c.Calls
}

func (c *Counts) add(d Counts) {
	for k := range c.Ops {
		c.Ops[k] += d.Ops[k]
	}
	c.Hits += d.Hits
	c.Misses += d.Misses
	c.Calls += d.Calls
}

// Service is a server's share of the store: an engine, and the exact count of
// what each peer had it do. It is safe for concurrent use.
type Service struct {
	engine   kvs.Engine
	instance string
	sample   atomic.Pointer[Sample] // never nil

	resumed, remembered atomic.Uint64

	agreement agreement

	mu    sync.Mutex
	open  map[*Conn]bool      // guarded by mu
	ended map[string]Counts   // by peer, of closed sessions; guarded by mu
	lanes map[laneKey]*memory // guarded by mu
}

// New returns a service over engine.
func New(engine kvs.Engine) *Service {
	s := &Service{engine: engine, instance: rand.Text(), open: map[*Conn]bool{}, ended: map[string]Counts{}, lanes: map[laneKey]*memory{}}
	s.sample.Store(new(Sample))
	return s
}

// Instance is random, and tells the service from every other, such as one that a
// server makes when it is started again: its store is empty.
func (s *Service) Instance() string { return s.instance }

// Retries returns how many connections took the place of another of their lane,
// and how many calls came again and were answered from memory.
func (s *Service) Retries() (connections, calls uint64) {
	return s.resumed.Load(), s.remembered.Load()
}

// Sample ends the sample of operations that is under way, returns it and begins
// another. Calls that are being applied may still add to the one returned.
func (s *Service) Sample() *Sample { return s.sample.Swap(new(Sample)) }

// Records is the number of keys in the store; exact when nobody writes.
func (s *Service) Records() int { return s.engine.Len() }

// Open begins a session for one connection of the named peer.
func (s *Service) Open(peer string) *Conn {
	session := &Conn{service: s, peer: peer}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[session] = true
	return session
}

// Sessions is the number of open sessions.
func (s *Service) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// Counts returns what each peer has had applied so far.
func (s *Service) Counts() map[string]Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	peers := make(map[string]Counts, len(s.ended)+1)
	for peer, counts := range s.ended {
		peers[peer] = counts
	}
	for session := range s.open {
		counts := peers[session.peer]
		counts.add(session.counts())
		peers[session.peer] = counts
	}
	return peers
}

// Conn is one connection's view of a service: it executes its calls. It is
// safe for concurrent use.
type Conn struct {
	service *Service
	peer    string

	// Coalesce makes replies send a repeated value once. It is set before the
	// first call.
	Coalesce bool

	ops                 [kvs.Kinds]atomic.Uint64
	hits, misses, calls atomic.Uint64

	seen atomic.Uint64 // operations that came; some of them were sampled

	hold *hold // of a lane; nil without one
}

// Close ends the session and keeps its counts. No call may run any more.
func (s *Conn) Close() {
	s.service.mu.Lock()
	defer s.service.mu.Unlock()
	if s.service.open[s] {
		delete(s.service.open, s)
		counts := s.service.ended[s.peer]
		counts.add(s.counts())
		s.service.ended[s.peer] = counts
		if s.hold != nil {
			s.service.leave(s.hold)
		}
	}
}

func (s *Conn) counts() Counts {
	c := Counts{Hits: s.hits.Load(), Misses: s.misses.Load(), Calls: s.calls.Load()}
	for k := range c.Ops {
		c.Ops[k] = s.ops[k].Load()
	}
	return c
}

// chunk is how many operations an engine sees at a time: enough to overlap
// their cache misses, few enough that the decoded operations (56 bytes each)
// stay in the first-level cache.
const chunk = 256

var chunks = sync.Pool{New: func() any { return new([chunk]kvs.Op) }}

// BatchPutGet applies a batch and fills reply with one result for each
// operation, in order. It is the store's one remote method. After an error,
// which a malformed batch, a reply of more than MaxBody bytes or a panic in the
// engine causes, nothing is known of the batch's operations; those that the
// engine is known to have applied are counted.
func (s *Conn) BatchPutGet(batch *kvs.Batch, reply *kvs.Reply) (err error) {
	var done applied
	reply.Reset()
	if s.Coalesce {
		reply.Coalesce(batch.Len())
		defer reply.Settle()
	}
	scratch := chunks.Get().(*[chunk]kvs.Op)
	picker := picker{sample: s.service.sample.Load(), skip: s.skip(batch.Len())}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("apply a batch of %d operations: panic: %v\n%s", batch.Len(), p, debug.Stack())
		}
		chunks.Put(scratch)
		s.count(&done)
	}()
	for cursor := batch.Ops(); ; {
		n, err := cursor.Next(scratch[:])
		if n > 0 {
			ops := scratch[:n]
			s.service.engine.Apply(ops, reply)
			picker.pick(ops)
			for i := range ops {
				done.ops[ops[i].Kind]++
			}
			done.hits, done.misses = reply.Hits, reply.Misses
		}
		if err != nil {
			return fmt.Errorf("apply a batch of %d operations: %w", batch.Len(), err)
		}
		if reply.Excess || reply.Size() > kvs.MaxBody {
			return fmt.Errorf("apply a batch of %d operations: the values they read take more than a reply may: at most %d bytes", batch.Len(), kvs.MaxBody)
		}
		if n < chunk {
			return nil
		}
	}
}

// applied counts the operations of one batch.
type applied struct {
	ops          [kvs.Kinds]uint64
	hits, misses int
}

func (s *Conn) count(a *applied) {
	for k, n := range a.ops {
		if n > 0 {
			s.ops[k].Add(n)
		}
	}
	s.hits.Add(uint64(a.hits))
	s.misses.Add(uint64(a.misses))
	s.calls.Add(1)
}
