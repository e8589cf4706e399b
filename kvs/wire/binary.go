package wire

import (
	"bufio"
	"fmt"
	"hash/crc32"
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
	crc  bool   // every body has a checksum
}

func newBinaryConn(conn net.Conn, crc bool) binaryConn {
	return binaryConn{conn: conn, in: bufio.NewReaderSize(conn, readAhead), crc: crc}
}

func (c *binaryConn) readHeader(types ...frameType) error {
	if _, err := io.ReadFull(c.in, c.head[:]); err != nil {
		return err // io.EOF between frames is the end
	}
	var err error
	if c.next, err = parseHeader(c.head[:], types...); err == nil && c.crc != (c.next.flags&checked != 0) {
		err = fmt.Errorf("%w: the handshake said body checks %t, the frame differs", ErrFrame, c.crc)
	}
	return err
}

func (c *binaryConn) readBody(body []byte) error {
	if _, err := io.ReadFull(c.in, body); err != nil {
		return fmt.Errorf("read a body of %d bytes: %w", len(body), noEOF(err))
	}
	if c.crc {
		if sum := crc32.Checksum(body, castagnoli); sum != c.next.body {
			return fmt.Errorf("%w: body check %08x, computed %08x", ErrFrame, c.next.body, sum)
		}
	}
	return nil
}

func (c *binaryConn) skipBody() error {
	if _, err := c.in.Discard(int(c.next.size)); err != nil {
		return fmt.Errorf("skip a body of %d bytes: %w", c.next.size, noEOF(err))
	}
	return nil
}

// write sends a frame, whose headroom it fills in with h and what follows from
// the frame.
func (c *binaryConn) write(h header, frame []byte) error {
	if err := checkSize(frame); err != nil {
		return err
	}
	h.size = uint32(len(frame) - headerLen)
	if c.crc {
		h.flags |= checked
		h.body = crc32.Checksum(frame[headerLen:], castagnoli)
	}
	h.put(frame)
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

func newBinaryServer(conn net.Conn, crc bool) rpc.ServerCodec {
	return &binaryServer{binaryConn: newBinaryConn(conn, crc)}
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
		return c.write(header{kind: errorFrame, seq: r.Seq}, text)
	}
	h := header{kind: replyFrame, seq: r.Seq, count: uint32(reply.Len())}
	if reply.Coalesced() {
		h.flags |= coalesced
	}
	err := c.write(h, reply.Frame())
	reply.Free()
	return err
}

// binaryClient is the client's end.
type binaryClient struct {
	binaryConn
}

func newBinaryClient(conn net.Conn, crc bool) rpc.ClientCodec {
	return &binaryClient{newBinaryConn(conn, crc)}
}

func (c *binaryClient) WriteRequest(r *rpc.Request, body any) error {
	batch, ok := body.(*kvs.Batch)
	if !ok {
		return fmt.Errorf("call %s: %T is not a batch", r.ServiceMethod, body)
	}
	return c.write(header{kind: requestFrame, seq: r.Seq, count: uint32(batch.Len())}, batch.Frame())
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
	return c.readBody(reply.Body(int(c.next.size), int(c.next.count), c.next.flags&coalesced != 0))
}
