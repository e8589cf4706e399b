package server

import (
	"io"

	"kvlab/kvs/wire"
)

// perConn is the execution model with one goroutine per connection. It answers each
// request before it reads the next one, so a connection's calls take effect in order. It
// returns nil when the client closes the connection between two calls.
func perConn(conn *wire.Conn) error {
	var r wire.Request
	for {
		if err := conn.Next(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		r.Err = conn.Service.Answer(r.Seq, &r.Batch, &r.Reply)
		if err := conn.Reply(&r); err != nil {
			return err
		}
	}
}
