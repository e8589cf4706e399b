// Package models holds execution models that studies compare with those of kvs/server.
package models

import "kvlab/kvs/server"

// Rows are the models.
var Rows = []server.ModelRow{
	{Name: "bounded", Description: "as conn, but bounded:N executes at most N calls at once", Form: "bounded:N, N from 1 to 65536", Open: openBounded},
	{Name: "pool:auto", Description: "as pool, in as many workers as the load needs", Form: "pool:auto", Open: server.NoArgument(func() (server.Model, error) { return server.ConnModel{Executor: newAutoPool()}, nil })},
	{Name: "hybrid", Description: "executes batches that only read as conn, and the others as pool:64 or, with hybrid:N[,QUEUE], as pool:N[,QUEUE]", Form: "hybrid, or hybrid:N or hybrid:N,QUEUE, each from 1 to 65536", Open: openHybrid},
	{Name: "parked", Description: "as conn, but a connection without a request has no goroutine and no buffers", Form: "parked", Open: server.NoArgument(func() (server.Model, error) { return newParked() })},
}

// bounded executes as many calls at once as it has room for, each in its connection's
// goroutine.
type bounded chan struct{}

func openBounded(argument string) func() (server.Model, error) {
	n, queue, ok := server.ParseModel(argument)
	if !ok || queue > 0 {
		return nil
	}
	return func() (server.Model, error) { return server.ConnModel{Executor: make(bounded, n)}, nil }
}

func (b bounded) Execute(c *server.Call) {
	b <- struct{}{}
	c.Execute()
	<-b
}

func (bounded) Stop() string { return "" }
