package wire

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"net"
	"net/rpc"

	"kvlab/kvs"
)

// The gob messages of the labs: a request is a slice of structs with a key, a value
// and a kind, a reply a slice of structs with a value. Keys and values are strings,
// as in the labs' maps. A message is the body of a frame, which bounds its length.
type gobOp struct {
	Key   string
	Value string
	Kind  uint8
}

type gobBatch struct{ Ops []gobOp }

type gobResult struct {
	Value string
	Found bool
	Read  bool
}

type gobReply struct{ Results []gobResult }

// gobStream is the messages of a connection, which describe each type once. A decoded
// batch may take about 40 times the memory of its message.
type gobStream struct {
	in  bytes.Reader // the last body
	dec *gob.Decoder
	out bytes.Buffer // the last frame
	enc *gob.Encoder
}

func newGobStream() *gobStream {
	s := new(gobStream)
	s.dec, s.enc = gob.NewDecoder(&s.in), gob.NewEncoder(&s.out)
	return s
}

// frame returns the headroom and an encoded message. It is valid until the next call.
func (s *gobStream) frame(message any) ([]byte, error) {
	var headroom [headerLen]byte
	s.out.Reset()
	s.out.Write(headroom[:])
	err := s.enc.Encode(message)
	return s.out.Bytes(), err
}

func (s *gobStream) decode(body []byte, message any) error {
	s.in.Reset(body)
	if err := s.dec.Decode(message); err != nil {
		return fmt.Errorf("%w gob: %w", kvs.ErrMalformed, noEOF(err))
	}
	if s.in.Len() > 0 {
		return fmt.Errorf("%w gob: %d bytes after the message", kvs.ErrMalformed, s.in.Len())
	}
	return nil
}

// gobClient is the client's end.
type gobClient struct {
	binaryClient
	*gobStream
}

func newGobClient(conn net.Conn, _ Features) rpc.ClientCodec {
	return &gobClient{binaryClient{newBinaryConn(conn, false)}, newGobStream()}
}

func (c *gobClient) WriteRequest(r *rpc.Request, body any) error {
	batch := body.(*kvs.Batch)
	out := gobBatch{Ops: make([]gobOp, 0, batch.Len())}
	var ops [256]kvs.Op
	for cursor := batch.Ops(); ; {
		n, err := cursor.Next(ops[:])
		if err != nil {
			return err
		}
		for _, op := range ops[:n] {
			out.Ops = append(out.Ops, gobOp{Key: string(op.Key), Value: string(op.Value), Kind: uint8(op.Kind)})
		}
		if n < len(ops) {
			break
		}
	}
	frame, err := c.frame(out)
	if err != nil {
		return err
	}
	return c.write(header{kind: requestFrame, seq: r.Seq, count: uint32(batch.Len())}, frame)
}

// ReadResponseBody reads the message into the reply's memory, which the results then
// replace: gob copies them.
func (c *gobClient) ReadResponseBody(body any) error {
	if err := c.binaryClient.ReadResponseBody(body); err != nil || body == nil {
		return err
	}
	reply := body.(*kvs.Reply)
	var in gobReply
	if err := c.decode(reply.Frame()[headerLen:], &in); err != nil {
		return err
	}
	reply.Reset()
	for i := range in.Results {
		switch result := &in.Results[i]; {
		case result.Found:
			reply.Found([]byte(result.Value))
		case result.Read:
			reply.Missing()
		default:
			reply.Stored()
		}
	}
	return nil
}

// gobServer is the server's end.
type gobServer struct {
	*binaryServer
	*gobStream
}

func newGobServer(conn net.Conn, features Features, limits Limits) serverCodec {
	return gobServer{newBinaryServer(conn, features, limits).(*binaryServer), newGobStream()}
}

// read reads the message into the batch's memory, which the operations then replace: gob
// copies them.
func (s gobServer) read(r *Request) error {
	if err := s.binaryServer.read(r); err != nil {
		return err
	}
	r.Err = s.translate(&r.Batch)
	return r.Err
}

func (s gobServer) translate(batch *kvs.Batch) error {
	var in gobBatch
	announced := batch.Len()
	if err := s.decode(batch.Frame()[headerLen:], &in); err != nil {
		return err
	}
	if len(in.Ops) != announced {
		return fmt.Errorf("%w batch: %d operations in a frame of %d", kvs.ErrMalformed, len(in.Ops), announced)
	}
	batch.Reset()
	for i, op := range in.Ops {
		if len(op.Key) > kvs.MaxKeyLen || len(op.Value) > kvs.MaxValueLen {
			return fmt.Errorf("%w batch: operation %d has a key of %d and a value of %d bytes", kvs.ErrMalformed, i, len(op.Key), len(op.Value))
		}
		switch kind := kvs.Kind(op.Kind); {
		case kind.Carries():
			batch.Append(kind, []byte(op.Key), []byte(op.Value))
		case kind == kvs.Get:
			batch.Get([]byte(op.Key))
		case kind == kvs.Delete:
			batch.Delete([]byte(op.Key))
		default:
			return fmt.Errorf("%w batch: operation %d is of kind %d", kvs.ErrMalformed, i, op.Kind)
		}
	}
	return nil
}

func (s gobServer) write(r *Request) error {
	if r.Err != nil {
		return s.binaryServer.write(r)
	}
	out := gobReply{Results: make([]gobResult, r.Reply.Len())}
	results := r.Reply.Results()
	for i := range out.Results {
		result, err := results.Next()
		if err != nil {
			return err
		}
		out.Results[i] = gobResult{Value: string(result.Value), Found: result.Found, Read: result.Read}
	}
	frame, err := s.frame(out)
	if err != nil {
		return err
	}
	return s.send(header{kind: replyFrame, seq: r.Seq, count: uint32(r.Reply.Len())}, frame)
}
