package server

import (
	"sync"
	"sync/atomic"
)

// Pool executes calls in its workers. A connection waits while the queue is full, and
// until its call is executed.
type Pool struct {
	calls   chan *Call   // the queue; a nil ends one worker
	busy    atomic.Int64 // workers that execute a call
	workers sync.WaitGroup
}

// queuePerWorker is the default length of a queue, per worker.
const queuePerWorker = 4

func openPool(argument string) func() (Model, error) {
	n, queue, ok := ParseModel(argument)
	if !ok {
		return nil
	}
	return func() (Model, error) { return ConnModel{NewPool(n, queue)}, nil }
}

// NewPool returns a pool of n workers. A queue of 0 has 4 calls for each worker.
func NewPool(n, queue int) *Pool {
	if queue == 0 {
		queue = queuePerWorker * n
	}
	p := &Pool{calls: make(chan *Call, queue)}
	p.Resize(n)
	return p
}

// Resize starts some workers or, if more is less than 0, ends some when they reach the end
// of the queue.
func (p *Pool) Resize(more int) {
	for range more {
		p.workers.Go(p.work)
	}
	for range -more {
		p.calls <- nil
	}
}

// Load returns the number of calls in the queue and of workers that execute one.
func (p *Pool) Load() (queued, busy int) { return len(p.calls), int(p.busy.Load()) }

func (p *Pool) work() {
	for c := range p.calls {
		if c == nil {
			return
		}
		p.busy.Add(1)
		c.Execute()
		p.busy.Add(-1)
		c.done <- struct{}{}
	}
}

// Execute has a worker execute a call.
func (p *Pool) Execute(c *Call) {
	if c.done == nil {
		c.done = make(chan struct{}, 1)
	}
	p.calls <- c
	<-c.done
}

// Stop ends the workers.
func (p *Pool) Stop() string {
	close(p.calls)
	p.workers.Wait()
	return ""
}
