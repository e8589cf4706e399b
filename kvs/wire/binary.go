package wire

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/rpc"

	"kvlab/kvs"
)

// readAhead is what one read takes in beyond a header: whole frames when they
// are small; of a large one the rest is read straight into its place.
const readAhead = 8 << 10

// binaryConn is what both ends of a binary connection share.
type binaryConn struct {
	conn net.Conn
	in   *bufio.Reader
	head [headerLen]byte
	next header // of the frame whose body is due
}

func (c *binaryConn) readHeader(types ...frameType) error {
	if _, err := io.ReadFull(c.in, c.head[:]); err != nil {
		return err // io.EOF between frames is the end
	}
	var err error
	c.next, err = parseHeader(c.head[:], types...)
	return err
}

func (c *binaryConn) readBody(body []byte) error {
	if _, err := io.ReadFull(c.in, body); err != nil {
		return fmt.Errorf("read a body of %d bytes: %w", len(body), noEOF(err))
	}
	return nil
}

func (c *binaryConn) skipBody() error {
	if _, err := c.in.Discard(int(c.next.size)); err != nil {
		return fmt.Errorf("skip a body of %d bytes: %w", c.next.size, noEOF(err))
	}
	return nil
}

// write sends a frame whose headroom it fills in.
func (c *binaryConn) write(kind frameType, seq uint64, count int, frame []byte) error {
	if err := checkSize(frame); err != nil {
		return err
	}
	header{kind: kind, seq: seq, count: uint32(count), size: uint32(len(frame) - headerLen)}.put(frame)
	_, err := c.conn.Write(frame)
	return err
}

func (c *binaryConn) Close() error { return c.conn.Close() }

// noEOF turns an end in the middle of something into the error that it is.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// binaryServer is the server's end. One request is under way at a time: its
// batch lies in the codec's own memory.
type binaryServer struct {
	binaryConn
	batch kvs.Batch
}

func newBinaryServer(conn net.Conn) rpc.ServerCodec {
	return &binaryServer{binaryConn: binaryConn{conn: conn, in: bufio.NewReaderSize(conn, readAhead)}}
}

func (c *binaryServer) ReadRequestHeader(r *rpc.Request) error {
	if err := c.readHeader(requestFrame); err != nil {
		return err
	}
	r.ServiceMethod = kvs.Method
	r.Seq = c.next.seq
	return nil
}

func (c *binaryServer) ReadRequestBody(body any) error {
	batch, ok := body.(*kvs.Batch)
	if !ok {
		return c.skipBody()
	}
	err := c.readBody(c.batch.Body(int(c.next.size), int(c.next.count)))
	*batch = c.batch
	return err
}

func (c *binaryServer) WriteResponse(r *rpc.Response, body any) error {
	reply, ok := body.(*kvs.Reply)
	if !ok || r.Error != "" {
		text := append(make([]byte, headerLen), r.Error...)
		return c.write(errorFrame, r.Seq, 0, text)
	}
	err := c.write(replyFrame, r.Seq, reply.Len(), reply.Frame())
	reply.Free()
	return err
}

// binaryClient is the client's end.
type binaryClient struct {
	binaryConn
}

func newBinaryClient(conn net.Conn) rpc.ClientCodec {
	return &binaryClient{binaryConn{conn: conn, in: bufio.NewReaderSize(conn, readAhead)}}
}

func (c *binaryClient) WriteRequest(r *rpc.Request, body any) error {
	batch, ok := body.(*kvs.Batch)
	if !ok {
		return fmt.Errorf("call %s: %T is not a batch", r.ServiceMethod, body)
	}
	return c.write(requestFrame, r.Seq, batch.Len(), batch.Frame())
}

func (c *binaryClient) ReadResponseHeader(r *rpc.Response) error {
	if err := c.readHeader(replyFrame, errorFrame); err != nil {
		return err
	}
	r.ServiceMethod = kvs.Method
	r.Seq = c.next.seq
	if c.next.kind == errorFrame {
		text := make([]byte, c.next.size)
		if err := c.readBody(text); err != nil {
			return err
		}
		c.next.size = 0
		r.Error = string(text)
	}
	return nil
}

func (c *binaryClient) ReadResponseBody(body any) error {
	reply, ok := body.(*kvs.Reply)
	if !ok {
		return c.skipBody()
	}
	return c.readBody(reply.Body(int(c.next.size), int(c.next.count), false))
}
