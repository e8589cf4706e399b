// Package service applies batches to an engine, each call once. It counts exactly
// the operations applied for each peer, and samples them.
package service

import (
	"crypto/rand"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"kvlab/kvs"
	"kvlab/metrics"
)

// Service is an engine and the exact counts of what each peer applied to it. It is
// safe for concurrent use.
type Service struct {
	engine   kvs.Engine
	instance string
	sample   atomic.Pointer[Sample] // never nil

	resumed, hits atomic.Uint64 // see Retries

	placement placementCheck

	mu       sync.Mutex
	conns    map[*Conn]bool             // open; guarded by mu
	closed   map[string]metrics.Counts  // by peer, of closed connections; guarded by mu
	sessions map[sessionKey]*replyCache // guarded by mu
}

// New returns a service over engine.
func New(engine kvs.Engine) *Service {
	s := &Service{engine: engine, instance: rand.Text(), conns: map[*Conn]bool{}, closed: map[string]metrics.Counts{}, sessions: map[sessionKey]*replyCache{}}
	s.sample.Store(new(Sample))
	return s
}

// Instance is the service's random name: a restarted server has another one, because
// its store is empty.
func (s *Service) Instance() string { return s.instance }

// Retries returns how many connections superseded another one of their session, and
// how many repeated calls were answered from the reply cache.
func (s *Service) Retries() (connections, calls uint64) {
	return s.resumed.Load(), s.hits.Load()
}

// Sample returns the current sample and starts another. Calls in progress may still
// add to the returned one.
func (s *Service) Sample() *Sample { return s.sample.Swap(new(Sample)) }

// Records is the number of keys in the store; exact while no call writes.
func (s *Service) Records() int { return s.engine.Len() }

// Open opens a connection of the named peer.
func (s *Service) Open(peer string) *Conn {
	c := &Conn{service: s, peer: peer}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
	return c
}

// Conns is the number of open connections.
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
		peers[c.peer] = peers[c.peer].Add(c.counts())
	}
	return peers
}

// Conn executes one connection's calls. It is safe for concurrent use.
type Conn struct {
	service *Service
	peer    string

	// Dedup makes replies send a repeated value once. It is set before the first
	// call.
	Dedup bool

	mu   sync.Mutex
	done metrics.Counts // guarded by mu

	// Of a session.
	cache      *replyCache // nil without a session
	session    Session
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
		s.closed[c.peer] = s.closed[c.peer].Add(c.counts())
		if c.cache != nil {
			s.detach(c)
		}
	}
}

func (c *Conn) counts() metrics.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// count adds what a call applied.
func (c *Conn) count(done *metrics.Counts) {
	c.mu.Lock()
	c.done.Accumulate(done)
	c.mu.Unlock()
}

// chunk is how many operations an engine gets at a time: enough to overlap their
// cache misses, few enough that the decoded operations (56 bytes each) stay in the
// first-level cache.
const chunk = 256

var chunks = sync.Pool{New: func() any { return new([chunk]kvs.Op) }}

// BatchPutGet applies a batch and fills reply with one result for each operation, in
// order. It is the store's one remote method. A malformed batch, a reply of more than
// MaxBody bytes or a panic in the engine is an error: the effect of the batch is then
// unknown. Operations that the engine did apply are counted.
func (c *Conn) BatchPutGet(batch *kvs.Batch, reply *kvs.Reply) (err error) {
	var ops [kvs.Kinds]uint64
	var hits, misses int
	reply.Reset()
	if c.Dedup {
		reply.Dedup(batch.Len())
		defer reply.EndDedup()
	}
	scratch := chunks.Get().(*[chunk]kvs.Op)
	picker := newPicker(c.service.sample.Load())
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			err = fmt.Errorf("apply a batch of %d operations: %w", batch.Len(), err)
		}
		chunks.Put(scratch)
		done := metrics.CountsOf(ops, uint64(hits), uint64(misses), 1)
		c.count(&done)
	}()
	for cursor := batch.Ops(); ; {
		n, err := cursor.Next(scratch[:])
		if n > 0 {
			decoded := scratch[:n]
			c.service.engine.Apply(decoded, reply)
			picker.pick(decoded)
			for i := range decoded {
				ops[decoded[i].Kind]++
			}
			hits, misses = reply.Hits, reply.Misses
		}
		if err != nil {
			return err
		}
		if reply.Excess || reply.Size() > kvs.MaxBody {
			return fmt.Errorf("the reply is too large: at most %d bytes", kvs.MaxBody)
		}
		if n < chunk {
			return nil
		}
	}
}
