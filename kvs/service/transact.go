package service

import (
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/txn"
	"kvlab/metrics"
)

// transact executes a batch of transactions, and counts what it committed. The first one makes
// the table of locks.
func (c *Conn) transact(batch *kvs.Batch, reply *kvs.Reply) (err error) {
	s := c.service
	if !c.Transactions {
		return fmt.Errorf("%w batch: transactions on a connection without -txn", kvs.ErrMalformed)
	}
	s.transactions.Do(func() {
		s.table, s.began = txn.New(s.engine, s.Policy), time.Now()
		s.table.Committed, s.table.Settled = s.committed, s.settled
	})
	if head, _ := batch.Parts(); !s.holds(head.Owner, c) {
		s.owners.Store(head.Owner, c)
	}
	var tally txn.Tally
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err == nil && (reply.Excess || reply.Size() > kvs.MaxBody) {
			err = fmt.Errorf("the reply is too large: at most %d bytes", kvs.MaxBody)
		}
		if err != nil {
			err = fmt.Errorf("execute a batch of transactions of %d entries: %w", batch.Len(), err)
		}
		c.countTally(&tally, 1)
	}()
	tally, err = s.table.Execute(batch, reply, time.Since(s.began))
	return err
}

// committed samples what is committed.
func (s *Service) committed(ops []kvs.Op) {
	picker := newPicker(s.sample.Load())
	for some := range slices.Chunk(ops, chunk) {
		picker.pick(some)
	}
}

// holds reports whether a connection is known as that of an owner.
func (s *Service) holds(owner uint64, c *Conn) bool {
	known, _ := s.owners.Load(owner)
	return known == c
}

// countTally adds what calls have committed.
func (c *Conn) countTally(t *txn.Tally, calls uint64) {
	done := metrics.CountsOf(t.Ops, t.Hits, t.Misses, calls)
	c.count(&done, t.Keys)
	c.mu.Lock()
	c.txns = c.txns.Add(metrics.TransactionTally{Runs: t.Runs, Parts: t.Parts, Shares: t.Shares, Refused: t.Refused})
	c.mu.Unlock()
}

func (c *Conn) tally() metrics.TransactionTally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.txns
}

// settled counts, as its owner's, what somebody else has committed for it. The owner's connection
// may be closed.
func (s *Service) settled(owner uint64, done *txn.Tally) {
	known, _ := s.owners.Load(owner)
	of := known.(*Conn) // it has voted
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.conns[of] {
		of = &Conn{service: s, peer: of.peer, Lane: of.Lane, Protocol: of.Protocol}
		defer of.leave()
	}
	of.countTally(done, 0)
}

// Tallies returns the transactions that were committed and refused for each peer so far.
func (s *Service) Tallies() map[string]metrics.TransactionTally {
	s.mu.Lock()
	defer s.mu.Unlock()
	peers := maps.Clone(s.tallies)
	for c := range s.conns {
		if !c.thirdParty {
			peers[c.peer] = peers[c.peer].Add(c.tally())
		}
	}
	return peers
}
