package wire

import (
	"fmt"
	"net"
	"net/rpc"

	"kvlab/kvs"
)

// gobServer is the server's end: net/rpc's server, as the labs have it, which is
// given one request at a time.
type gobServer struct {
	rpc   *rpc.Server
	codec gobServerCodec
}

func newGobServer(conn net.Conn, session *kvs.Session, limits Limits) (serverEnd, error) {
	s := &gobServer{rpc: rpc.NewServer(), codec: gobServerCodec{gobConn: newGobConn(conn, limits), results: newGobResults()}}
	if err := s.rpc.RegisterName(kvs.ServiceName, session); err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	return s, nil
}

func (s *gobServer) await() error {
	_, err := s.codec.in.in.Peek(1)
	return err
}

func (s *gobServer) serve() error {
	// Its error is either the codec's, or has been answered: a method that does
	// not exist.
	_ = s.rpc.ServeRequest(&s.codec)
	return s.codec.err
}

func (s *gobServer) Close() error { return s.codec.Close() }

// gobServerCodec remembers its first error: net/rpc logs some, drops others, and
// passes none on as it was. After one, the connection is over.
type gobServerCodec struct {
	*gobConn
	results *gobResults
	ops     gobBatch // of which some are decoded at a time
	batch   kvs.Batch
	err     error
}

func (c *gobServerCodec) note(err error) error {
	if c.err == nil {
		c.err = err
	}
	return err
}

func (c *gobServerCodec) ReadRequestHeader(r *rpc.Request) error { return c.note(c.in.head(r)) }

func (c *gobServerCodec) ReadRequestBody(body any) error {
	batch, ok := body.(*kvs.Batch)
	if !ok { // the call is of a method that does not exist
		return c.note(c.in.skip())
	}
	err := c.readBatch()
	*batch = c.batch
	return c.note(err)
}

func (c *gobServerCodec) readBatch() error {
	c.batch.Reset()
	room := 0
	return c.in.elements(&c.ops, func() error {
		// As many bytes as the message has are enough, of which memory is taken for
		// seenTimes what has come.
		if come := c.in.size - c.in.left; come > room {
			room = min(c.in.size, seenTimes*come)
			c.batch.Grow(room - c.batch.Size())
		}
		err := appendOps(&c.batch, c.ops.Ops)
		clear(c.ops.Ops) // gob leaves what a zero value does not send, as it does
		c.ops.Ops = c.ops.Ops[:0]
		return err
	})
}

// appendOps adds operations to a batch.
func appendOps(batch *kvs.Batch, ops []gobOp) error {
	for i := range ops {
		op := &ops[i]
		if len(op.Key) > kvs.MaxKeyLen || len(op.Value) > kvs.MaxValueLen {
			return fmt.Errorf("%w batch: operation %d has a key of %d and a value of %d bytes", kvs.ErrMalformed, batch.Len(), len(op.Key), len(op.Value))
		}
		switch kind := kvs.Kind(op.Kind); {
		case kind.Writes():
			batch.Append(kind, []byte(op.Key), []byte(op.Value))
		case kind == kvs.Get:
			batch.Get([]byte(op.Key))
		default:
			return fmt.Errorf("%w batch: operation %d is of kind %d", kvs.ErrMalformed, batch.Len(), op.Kind)
		}
	}
	return nil
}

func (c *gobServerCodec) WriteResponse(r *rpc.Response, body any) error {
	if c.batch.Size() > unseen*seenTimes {
		c.batch = kvs.Batch{} // has been applied; the reply may be as large
	}
	return c.note(c.answer(r, body))
}

func (c *gobServerCodec) answer(r *rpc.Response, body any) error {
	if err := c.enc.Encode(r); err != nil {
		return fmt.Errorf("encode a header: %w", err)
	}
	reply, ok := body.(*kvs.Reply)
	if !ok || r.Error != "" {
		reply = new(kvs.Reply)
	}
	defer reply.Free()
	if err := c.results.write(c.out, reply); err != nil {
		return fmt.Errorf("encode a reply: %w", err)
	}
	return c.out.Flush()
}
