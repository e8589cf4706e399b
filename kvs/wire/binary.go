package wire

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/rpc"
	"sync"
	"time"

	"kvlab/kvs"
)

// readAhead is the size of the read buffer: it holds several small frames; most of
// a large body is read directly into its batch or reply.
const readAhead = 8 << 10

// binaryConn is what both ends of a binary connection share.
type binaryConn struct {
	conn net.Conn
	in   *bufio.Reader
	head [headerLen]byte
	next header // of the frame whose body comes next
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
		err = fmt.Errorf("%w: the handshake said body checks %t, the frame differs", errFrame, c.crc)
	}
	return err
}

func (c *binaryConn) readBody(body []byte) error {
	if _, err := io.ReadFull(c.in, body); err != nil {
		return fmt.Errorf("read a body of %d bytes: %w", len(body), noEOF(err))
	}
	return c.checkBody(body)
}

func (c *binaryConn) checkBody(body []byte) error {
	if c.crc {
		if sum := crc32.Checksum(body, castagnoli); sum != c.next.body {
			return fmt.Errorf("%w: body check %08x, computed %08x", errFrame, c.next.body, sum)
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

// write sends a frame after seal.
func (c *binaryConn) write(h header, frame []byte) error {
	c.seal(h, frame)
	_, err := c.conn.Write(frame)
	return err
}

// seal writes h into the frame's headroom, with the body's size and checksum.
func (c *binaryConn) seal(h header, frame []byte) {
	h.size = uint32(len(frame) - headerLen)
	if c.crc {
		h.flags |= checked
		h.body = crc32.Checksum(frame[headerLen:], castagnoli)
	}
	h.put(frame)
}

func (c *binaryConn) Close() error { return c.conn.Close() }

// noEOF turns io.EOF in the middle of a message into io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// binaryServer is the server's end. A small reply waits if the next request has
// already arrived, so that one write carries the replies to requests that arrived
// together.
type binaryServer struct {
	binaryConn
	limits       Limits
	transactions bool // the client may send them
	largest      int  // body so far
	out          *bufio.Writer
}

// opened is where the codecs' clock starts: time.Since is cheaper than time.Now.
var opened = time.Now()

func newBinaryServer(conn net.Conn, features Features, limits Limits) serverCodec {
	c := &binaryServer{binaryConn: binaryConn{conn: conn, crc: features.CRC}, limits: limits, transactions: features.Transactions}
	c.acquireBuffers()
	return c
}

func (c *binaryServer) await() error {
	_, err := c.in.Peek(1)
	return err
}

func (c *binaryServer) read(r *Request) error {
	r.Err = nil
	var err error
	if c.transactions {
		err = c.readHeader(requestFrame, transactionFrame)
	} else {
		err = c.readHeader(requestFrame)
	}
	if err != nil {
		return err
	}
	r.Seq = c.next.seq
	r.Err = c.readBatch(&r.Batch)
	r.Batch.SetTransactional(c.next.kind == transactionFrame)
	r.arrived = time.Since(opened)
	return r.Err
}

func (c *binaryServer) write(r *Request) error {
	if r.Err != nil {
		return c.send(header{kind: errorFrame, seq: r.Seq}, append(make([]byte, headerLen), r.Err.Error()...))
	}
	h := header{kind: replyFrame, seq: r.Seq, count: uint32(r.Reply.Len()), took: max(time.Since(opened)-r.arrived, 1)}
	if r.Reply.Deduped() {
		h.flags |= deduped
	}
	return c.send(h, r.Reply.Frame())
}

// A header of 32 bytes can announce the largest body, and many clients can send one.
// Therefore readBatch allocates a body in steps: first unseen bytes or the size of the
// largest body so far, then seenTimes the bytes received.
const (
	unseen    = 1 << 20
	seenTimes = 8
)

// readBatch reads a body into the batch, if it keeps to the limits.
func (c *binaryServer) readBatch(batch *kvs.Batch) error {
	size, count := int(c.next.size), int(c.next.count)
	if err := c.limits.check(size, count); err != nil {
		return errors.Join(err, c.skipBody()) // unread bytes would reset the connection, and the error might be lost
	}
	body := batch.Body(min(size, max(unseen, c.largest)), count)
	for here := 0; ; {
		if _, err := io.ReadFull(c.in, body[here:]); err != nil {
			return fmt.Errorf("read a body of %d bytes: %w", size, noEOF(err))
		}
		here = len(body)
		if here == size {
			break
		}
		early := body
		body = batch.Body(min(size, seenTimes*here), count)
		copy(body, early)
	}
	c.largest = max(c.largest, size)
	return c.checkBody(body)
}

// send sends a reply now or with the next one.
func (c *binaryServer) send(h header, frame []byte) error {
	c.seal(h, frame)
	if _, err := c.out.Write(frame); err != nil || c.requested() {
		return err
	}
	return c.out.Flush()
}

func (c *binaryServer) empty() bool { return c.in.Buffered() == 0 }

// idle are the buffers that connections have released.
var idle = struct{ in, out sync.Pool }{
	in:  sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readAhead) }},
	out: sync.Pool{New: func() any { return bufio.NewWriterSize(nil, MaxGroup) }},
}

func (c *binaryServer) releaseBuffers() {
	idle.in.Put(c.in)
	idle.out.Put(c.out)
	c.in, c.out = nil, nil
}

func (c *binaryServer) acquireBuffers() {
	c.in, c.out = idle.in.Get().(*bufio.Reader), idle.out.Get().(*bufio.Writer)
	c.in.Reset(c.conn)
	c.out.Reset(c.conn)
}

// requested reports whether another complete request has arrived. Its reply does not
// depend on further bytes from the client.
func (c *binaryServer) requested() bool {
	here := c.in.Buffered()
	if here < headerLen {
		return false
	}
	head, err := c.in.Peek(headerLen)
	return err == nil && uint64(here) >= headerLen+uint64(bodySize(head))
}

// Close first sends the waiting replies: the last bytes received may be malformed,
// but the requests before them were executed.
func (c *binaryServer) Close() error { return errors.Join(c.out.Flush(), c.binaryConn.Close()) }

// binaryClient is the client's end.
type binaryClient struct {
	binaryConn
}

func newBinaryClient(conn net.Conn, features Features) rpc.ClientCodec {
	return &binaryClient{newBinaryConn(conn, features.CRC)}
}

func (c *binaryClient) WriteRequest(r *rpc.Request, body any) error {
	batch := body.(*kvs.Batch)
	return c.write(requestHeader(r.Seq, batch), batch.Frame())
}

func (c *binaryClient) ReadResponseHeader(r *rpc.Response) error {
	if err := c.readHeader(replyFrame, errorFrame); err != nil {
		return err
	}
	r.ServiceMethod = remoteMethod
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
	if body == nil {
		return c.skipBody()
	}
	reply := body.(*kvs.Reply)
	err := c.readBody(reply.Body(int(c.next.size), int(c.next.count), c.next.flags&deduped != 0))
	reply.Served = c.next.took
	return err
}
