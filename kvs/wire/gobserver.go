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
	s := &gobServer{rpc: rpc.NewServer(), codec: gobServerCodec{gobConn: newGobConn(conn, limits)}}
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
	batch kvs.Batch
	err   error
}

func (c *gobServerCodec) note(err error) error {
	if c.err == nil {
		c.err = err
	}
	return err
}

func (c *gobServerCodec) ReadRequestHeader(r *rpc.Request) error { return c.note(c.in.decode(r)) }

func (c *gobServerCodec) ReadRequestBody(body any) error {
	batch, ok := body.(*kvs.Batch)
	if !ok { // the call is of a method that does not exist
		return c.note(c.in.decode(nil))
	}
	err := c.readBatch()
	*batch = c.batch
	return c.note(err)
}

func (c *gobServerCodec) readBatch() error {
	var in gobBatch // fresh: gob leaves what a zero value does not send
	if err := c.in.decode(&in); err != nil {
		return err
	}
	c.batch.Reset()
	for i := range in.Ops {
		op := &in.Ops[i]
		if len(op.Key) > kvs.MaxKeyLen || len(op.Value) > kvs.MaxValueLen {
			return fmt.Errorf("%w batch: operation %d has a key of %d and a value of %d bytes", kvs.ErrMalformed, i, len(op.Key), len(op.Value))
		}
		switch kind := kvs.Kind(op.Kind); {
		case kind.Writes():
			c.batch.Append(kind, []byte(op.Key), []byte(op.Value))
		case kind == kvs.Get:
			c.batch.Get([]byte(op.Key))
		default:
			return fmt.Errorf("%w batch: operation %d is of kind %d", kvs.ErrMalformed, i, op.Kind)
		}
	}
	return nil
}

func (c *gobServerCodec) WriteResponse(r *rpc.Response, body any) error {
	return c.note(c.answer(r, body))
}

func (c *gobServerCodec) answer(r *rpc.Response, body any) error {
	reply, ok := body.(*kvs.Reply)
	if !ok || r.Error != "" {
		return c.encode(r, gobReply{})
	}
	out := gobReply{Results: make([]gobResult, reply.Len())}
	results := reply.Results()
	for i := range out.Results {
		result, err := results.Next()
		if err != nil {
			return err
		}
		out.Results[i] = gobResult{Value: string(result.Value), Found: result.Found, Read: result.Read}
	}
	reply.Free()
	return c.encode(r, out)
}
