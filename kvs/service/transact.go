package service

import (
	"fmt"
	"runtime/debug"
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
	s.transactions.Do(func() { s.table, s.began = txn.New(s.engine, s.Policy), time.Now() })
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
		done := metrics.CountsOf(tally.Ops, tally.Hits, tally.Misses, 1)
		c.count(&done, tally.Keys)
	}()
	tally, err = s.table.Execute(batch, reply, time.Since(s.began))
	return err
}
