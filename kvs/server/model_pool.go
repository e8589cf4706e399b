package server

import (
	"sync"
	"sync/atomic"

	"kvlab/kvs"
)

// bounded executes as many calls at once as it has room for, each in its connection's
// goroutine.
type bounded chan struct{}

func openBounded(argument string) func() (Model, error) {
	n, queue, ok := numbers(argument)
	if !ok || queue > 0 {
		return nil
	}
	return func() (Model, error) { return perConn{make(bounded, n)}, nil }
}

func (b bounded) execute(c *call) {
	b <- struct{}{}
	c.execute()
	<-b
}

func (bounded) Stop() string { return "" }

// pool executes calls in its workers. A connection waits while the queue is full, and
// until its call is executed.
type pool struct {
	calls   chan *call   // the queue; a nil ends one worker
	busy    atomic.Int64 // workers that execute a call
	workers sync.WaitGroup
}

// queuePerWorker is the length of a queue that the user has not chosen, per worker.
const queuePerWorker = 4

func openPool(argument string) func() (Model, error) {
	if argument == "auto" {
		return func() (Model, error) { return perConn{newAutoPool()}, nil }
	}
	n, queue, ok := numbers(argument)
	if !ok {
		return nil
	}
	return func() (Model, error) { return perConn{newPool(n, queue)}, nil }
}

// newPool returns a pool of n workers. A queue of 0 has the default length.
func newPool(n, queue int) *pool {
	if queue == 0 {
		queue = queuePerWorker * n
	}
	p := &pool{calls: make(chan *call, queue)}
	for range n {
		p.workers.Go(p.work)
	}
	return p
}

func (p *pool) work() {
	for c := range p.calls {
		if c == nil {
			return
		}
		p.busy.Add(1)
		c.execute()
		p.busy.Add(-1)
		c.done <- struct{}{}
	}
}

func (p *pool) execute(c *call) {
	if c.done == nil {
		c.done = make(chan struct{}, 1)
	}
	p.calls <- c
	<-c.done
}

func (p *pool) Stop() string {
	close(p.calls)
	p.workers.Wait()
	return ""
}

// hybrid executes batches that only read in their connections' goroutines, and the others
// in a pool.
type hybrid struct{ *pool }

// hybridWorkers is Flin's number of workers.
const hybridWorkers = 64

func openHybrid(argument string) func() (Model, error) {
	n, queue, ok := hybridWorkers, 0, true
	if argument != "" {
		n, queue, ok = numbers(argument)
	}
	if !ok {
		return nil
	}
	return func() (Model, error) { return perConn{hybrid{newPool(n, queue)}}, nil }
}

func (h hybrid) execute(c *call) {
	if onlyReads(&c.Batch) {
		c.execute()
	} else {
		h.pool.execute(c)
	}
}

// onlyReads reports whether a batch writes nothing, as far as it is well-formed.
func onlyReads(batch *kvs.Batch) bool {
	var ops [32]kvs.Op
	for cursor := batch.Ops(); ; {
		n, err := cursor.Next(ops[:])
		for i := range ops[:n] {
			if kind := ops[i].Kind; !kind.Reads() || kind.Writes() {
				return false
			}
		}
		if err != nil || n < len(ops) {
			return true
		}
	}
}
