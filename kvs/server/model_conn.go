package server

import (
	"net"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/wire"
)

// PerConn is the default model: one goroutine per connection, which executes the calls.
var PerConn Model = perConn{inline{}}

// perConn has one goroutine per connection, which waits while its executor executes a
// call.
type perConn struct{ executor }

func (perConn) Listener(l net.Listener) net.Listener { return l }

func (m perConn) serve(_ net.Conn, conn *wire.Conn, ended func(error)) {
	c := &call{conn: conn}
	for {
		if err := c.serve(m.executor); err != nil {
			end(conn, err, ended)
			return
		}
	}
}

// inline executes a call in its connection's goroutine.
type inline struct{}

func (inline) execute(c *call) { c.execute() }
func (inline) Stop() string    { return "" }

// repeating is PerConn for -repeat: calls of one size on a connection have one answer,
// and the engine executes the first.
type repeating struct{ inline }

func (repeating) Listener(l net.Listener) net.Listener { return l }

func (repeating) serve(socket net.Conn, conn *wire.Conn, ended func(error)) {
	perConn{firstAnswers{}}.serve(socket, conn, ended)
}

// firstAnswers are a connection's first answers, by the size of the call.
type firstAnswers map[callSize][]byte

type callSize struct{ ops, bytes int }

func (f firstAnswers) execute(c *call) {
	of := callSize{c.Batch.Len(), c.Batch.Size()}
	if body, ok := f[of]; ok {
		copy(c.Reply.Body(len(body), of.ops, false), body)
		return
	}
	if c.execute(); c.Err == nil {
		f[of] = slices.Clone(c.Reply.Frame()[kvs.Headroom:])
	}
}

func (firstAnswers) Stop() string { return "" }
