package server

import (
	"io"

	"kvlab/kvs/wire"
)

// perConn is the execution model with one goroutine for each connection. It reads
// a request, executes it and answers it before it reads the next one, so the calls
// of one connection take effect in order and no goroutine is made for a call. It
// returns nil when the client has closed the connection between two calls.
func perConn(conn *wire.Conn) error {
	var r wire.Request
	for {
		if err := conn.Next(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		r.Err = conn.Session.Answer(r.Seq, &r.Batch, &r.Reply)
		if err := conn.Reply(&r); err != nil {
			return err
		}
	}
}
