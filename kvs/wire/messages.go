package wire

import (
	"fmt"
	"net"
	"net/rpc"

	"kvlab/kvs"
)

// Messages encodes batches and replies as messages of a library, for one end of a
// connection. A message is the body of a frame, which bounds its length. It belongs to one
// goroutine.
type Messages interface {
	// EncodeBatch returns kvs.Headroom bytes and a batch's message. They are valid until the
	// next call.
	EncodeBatch(*kvs.Batch) (frame []byte, err error)
	EncodeReply(*kvs.Reply) (frame []byte, err error)

	// DecodeBatch replaces a batch by that in a message, which is in the batch's memory.
	// The batch's length is what the frame's header announced.
	DecodeBatch(message []byte, batch *kvs.Batch) error
	DecodeReply(message []byte, reply *kvs.Reply) error

	Release() // frees memory until the next message
}

// MessageCodec returns a codec of messages, which has none of the Features. open returns
// the messages of a connection.
func MessageCodec[M Messages](name string, open func() M) Codec {
	return Codec{
		name: name,
		client: func(conn net.Conn, _ Features) rpc.ClientCodec {
			return &messageClient{binaryClient{newBinaryConn(conn, false)}, open()}
		},
		server: func(conn net.Conn, features Features, limits Limits) serverCodec {
			return messageServer{newBinaryServer(conn, features, limits).(*binaryServer), open()}
		},
	}
}

// messageClient is the client's end.
type messageClient struct {
	binaryClient
	Messages
}

func (c *messageClient) WriteRequest(r *rpc.Request, body any) error {
	batch := body.(*kvs.Batch)
	frame, err := c.EncodeBatch(batch)
	if err != nil {
		return err
	}
	return c.write(header{kind: requestFrame, seq: r.Seq, count: uint32(batch.Len())}, frame)
}

func (c *messageClient) ReadResponseBody(body any) error {
	if err := c.binaryClient.ReadResponseBody(body); err != nil || body == nil {
		return err
	}
	reply := body.(*kvs.Reply)
	return c.DecodeReply(reply.Frame()[headerLen:], reply)
}

// messageServer is the server's end.
type messageServer struct {
	*binaryServer
	Messages
}

func (s messageServer) read(r *Request) error {
	if err := s.binaryServer.read(r); err != nil {
		return err
	}
	r.Err = s.DecodeBatch(r.Batch.Frame()[headerLen:], &r.Batch)
	return r.Err
}

func (s messageServer) releaseBuffers() {
	s.Release()
	s.binaryServer.releaseBuffers()
}

func (s messageServer) write(r *Request) error {
	if r.Err != nil {
		return s.binaryServer.write(r)
	}
	frame, err := s.EncodeReply(&r.Reply)
	if err != nil {
		return err
	}
	return s.send(header{kind: replyFrame, seq: r.Seq, count: uint32(r.Reply.Len())}, frame)
}

// eachOp calls add for each operation of a batch, in order.
func EachOp(batch *kvs.Batch, add func(kvs.Op)) error {
	var ops [256]kvs.Op
	for cursor := batch.Ops(); ; {
		n, err := cursor.Next(ops[:])
		if err != nil {
			return err
		}
		for _, op := range ops[:n] {
			add(op)
		}
		if n < len(ops) {
			return nil
		}
	}
}

// checkAnnounced returns an error unless a message holds as many entries as its frame's
// header announced.
func CheckAnnounced(what, entries string, n, announced int) error {
	if n != announced {
		return fmt.Errorf("%w %s: %d %s in a frame of %d", kvs.ErrMalformed, what, n, entries, announced)
	}
	return nil
}

// appendOp appends operation i of a message to a batch.
func AppendOp(batch *kvs.Batch, i int, kind uint32, key, value []byte) error {
	if len(key) > kvs.MaxKeyLen || len(value) > kvs.MaxValueLen {
		return fmt.Errorf("%w batch: operation %d has a key of %d and a value of %d bytes", kvs.ErrMalformed, i, len(key), len(value))
	}
	switch k := kvs.Kind(min(kind, kvs.Kinds)); {
	case k.Carries():
		batch.Append(k, key, value)
	case k == kvs.Get:
		batch.Get(key)
	case k == kvs.Delete:
		batch.Delete(key)
	default:
		return fmt.Errorf("%w batch: operation %d is of kind %d", kvs.ErrMalformed, i, kind)
	}
	return nil
}

// appendResult appends a message's result to a reply.
func AppendResult(reply *kvs.Reply, value []byte, found, read bool) {
	switch {
	case found:
		reply.Found(value)
	case read:
		reply.Missing()
	default:
		reply.Stored()
	}
}
