package wire

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"net"
	"net/rpc"

	"kvlab/kvs"
)

// The gob messages, as the labs send them: a slice of structs with a key, a
// value and a kind in one direction, a slice of structs with the value in the
// other. Strings, because that is what their maps hold.
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

// gobConn is what both ends of a gob connection share: net/rpc's own gob
// codec, whose types are not exported, behind gobMessages.
type gobConn struct {
	conn net.Conn
	in   *gobMessages
	out  *bufio.Writer
	enc  *gob.Encoder
}

func newGobConn(conn net.Conn, limits Limits) *gobConn {
	c := &gobConn{conn: conn, in: newGobMessages(conn, limits), out: bufio.NewWriterSize(conn, 64<<10)}
	c.enc = gob.NewEncoder(c.out)
	return c
}

func (c *gobConn) encode(header, body any) error {
	if err := c.enc.Encode(header); err != nil {
		return fmt.Errorf("encode a header: %w", err)
	}
	if err := c.enc.Encode(body); err != nil {
		return fmt.Errorf("encode a body: %w", err)
	}
	return c.out.Flush()
}

func (c *gobConn) Close() error { return c.conn.Close() }

// gobClient is the client's end.
type gobClient struct{ *gobConn }

func newGobClient(conn net.Conn) rpc.ClientCodec { return gobClient{newGobConn(conn, Limits{})} }

func (c gobClient) WriteRequest(r *rpc.Request, body any) error {
	batch, ok := body.(*kvs.Batch)
	if !ok {
		return fmt.Errorf("call %s: %T is not a batch", r.ServiceMethod, body)
	}
	if err := checkSize(batch.Frame()); err != nil {
		return err
	}
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
	return c.encode(r, out)
}

func (c gobClient) ReadResponseHeader(r *rpc.Response) error { return c.in.head(r) }

func (c gobClient) ReadResponseBody(body any) error {
	reply, ok := body.(*kvs.Reply)
	if !ok {
		return c.in.skip()
	}
	reply.Reset()
	var in gobReply // of which some are decoded at a time
	return c.in.elements(&in, func() error {
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
		clear(in.Results) // gob leaves what a zero value does not send, as it does
		in.Results = in.Results[:0]
		return nil
	})
}
