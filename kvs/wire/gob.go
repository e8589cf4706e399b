package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"reflect"

	"kvlab/kvs"
)

// The gob messages of the labs: a request is a slice of structs with a key, a value
// and a kind, a reply a slice of structs with a value. Keys and values are strings,
// as in the labs' maps.
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

// gobConn is what both ends of a gob connection share: net/rpc's gob codec, whose
// types are not exported, with a bound on every message that it reads.
type gobConn struct {
	conn net.Conn
	in   gobReader
	dec  *gob.Decoder
	out  *bufio.Writer
	enc  *gob.Encoder
}

func newGobConn(conn net.Conn, limits Limits) *gobConn {
	c := &gobConn{conn: conn, in: gobReader{in: bufio.NewReaderSize(conn, 64<<10), limits: limits}, out: bufio.NewWriterSize(conn, 64<<10)}
	c.dec, c.enc = gob.NewDecoder(&c.in), gob.NewEncoder(c.out)
	return c
}

func (c *gobConn) encode(header, body any) error {
	return errors.Join(c.enc.Encode(header), c.enc.Encode(body), c.out.Flush())
}

func (c *gobConn) Close() error { return c.conn.Close() }

// gobReader feeds a gob decoder and fails before a message that is too long; the
// decoder itself accepts up to 8 GiB. A decoded batch may take about 40 times the
// memory of its message.
type gobReader struct {
	in     *bufio.Reader
	limits Limits
	left   int // bytes of the current message, its length included
}

func (r *gobReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n, err := r.in.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// ReadByte keeps gob from reading ahead.
func (r *gobReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r, b[:])
	return b[0], err
}

// next checks the length of the next message. A length below 128 is one byte; a
// longer one is the negated number of its bytes, then these bytes in big-endian order.
// next skips a message over a limit: closing a connection with unread bytes resets it,
// and the error might not reach the client.
func (r *gobReader) next() error {
	prefix, err := r.in.Peek(1)
	if err != nil {
		return err
	}
	length := uint64(prefix[0])
	if length >= 0x80 {
		if prefix, err = r.in.Peek(1 + min(-int(int8(prefix[0])), 8)); err != nil {
			return noEOF(err)
		}
		var wide [8]byte
		copy(wide[9-len(prefix):], prefix[1:])
		length = binary.BigEndian.Uint64(wide[:])
	}
	if length == 0 || length > kvs.MaxBody {
		return fmt.Errorf("%w: a gob message of %d bytes; at most %d", errFrame, length, kvs.MaxBody)
	}
	size := len(prefix) + int(length)
	if err := r.limits.check(int(length), 0); err != nil {
		_, skipped := r.in.Discard(size)
		return errors.Join(err, skipped)
	}
	r.left = size
	return nil
}

// gobClient is the client's end.
type gobClient struct{ *gobConn }

func newGobClient(conn net.Conn, _ Features) rpc.ClientCodec {
	return gobClient{newGobConn(conn, Limits{})}
}

func (c gobClient) WriteRequest(r *rpc.Request, body any) error {
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
	return c.encode(r, out)
}

func (c gobClient) ReadResponseHeader(r *rpc.Response) error { return c.dec.Decode(r) }

func (c gobClient) ReadResponseBody(body any) error {
	if body == nil {
		return c.dec.DecodeValue(reflect.Value{})
	}
	var in gobReply
	if err := c.dec.Decode(&in); err != nil {
		return err
	}
	reply := body.(*kvs.Reply)
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
type gobServer struct{ *gobConn }

func newGobServer(conn net.Conn, _ Features, limits Limits) serverCodec {
	return gobServer{newGobConn(conn, limits)}
}

func (s gobServer) await() error {
	_, err := s.in.in.Peek(1)
	return err
}

func (s gobServer) read(r *Request) error {
	var head rpc.Request
	r.Err = nil
	if err := s.dec.Decode(&head); err != nil {
		return err
	}
	r.Seq = head.Seq
	if head.ServiceMethod != remoteMethod {
		return fmt.Errorf("%w: a call of %.100q", errFrame, head.ServiceMethod)
	}
	r.Err = s.readBatch(&r.Batch)
	return r.Err
}

func (s gobServer) write(r *Request) error {
	head := rpc.Response{ServiceMethod: remoteMethod, Seq: r.Seq}
	if r.Err != nil {
		head.Error = r.Err.Error()
		return s.encode(head, gobReply{})
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
	return s.encode(head, out)
}

// readBatch reads a request's body into the batch.
func (s gobServer) readBatch(batch *kvs.Batch) error {
	var in gobBatch
	if err := s.dec.Decode(&in); err != nil {
		return noEOF(err)
	}
	if err := s.in.limits.check(0, len(in.Ops)); err != nil {
		return err
	}
	batch.Reset()
	for i := range in.Ops {
		op := &in.Ops[i]
		if len(op.Key) > kvs.MaxKeyLen || len(op.Value) > kvs.MaxValueLen {
			return fmt.Errorf("%w batch: operation %d has a key of %d and a value of %d bytes", kvs.ErrMalformed, i, len(op.Key), len(op.Value))
		}
		switch kind := kvs.Kind(op.Kind); {
		case kind.Writes():
			batch.Append(kind, []byte(op.Key), []byte(op.Value))
		case kind == kvs.Get:
			batch.Get([]byte(op.Key))
		default:
			return fmt.Errorf("%w batch: operation %d is of kind %d", kvs.ErrMalformed, i, op.Kind)
		}
	}
	return nil
}
