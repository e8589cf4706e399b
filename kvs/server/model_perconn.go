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
	first := repeated{}
	for {
		if err := conn.Next(&r); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if !repeat || !first.answer(&r) {
			r.Err = conn.Service.Answer(r.Seq, &r.Batch, &r.Reply)
		}
		if repeat {
			first.keep(&r)
		}
		if err := conn.Reply(&r); err != nil {
			return err
		}
	}
}

// repeated are the first replies on a connection to requests of a size, for -repeat.
type repeated map[requestSize][]byte

type requestSize struct{ ops, bytes int }

func sizeOf(r *wire.Request) requestSize { return requestSize{r.Batch.Len(), r.Batch.Size()} }

// answer gives a request the reply again that the first of its size had, and reports
// false for the first.
func (f repeated) answer(r *wire.Request) bool {
	body, ok := f[sizeOf(r)]
	if ok {
		copy(r.Reply.Body(len(body), r.Batch.Len(), false), body)
	}
	return ok
}

// keep remembers the reply to the first request of a size before it is sent.
func (f repeated) keep(r *wire.Request) {
	if _, ok := f[sizeOf(r)]; !ok && r.Err == nil {
		f[sizeOf(r)] = slices.Clone(r.Reply.Frame()[kvs.Headroom:])
	}
}
