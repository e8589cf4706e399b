// Package codecs holds codecs that studies compare with those of kvs/wire.
package codecs

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "kvlab/extra/variants/codecs/message"
	"kvlab/kvs"
	"kvlab/kvs/wire"
)

// Rows are the codecs.
var Rows = []wire.Codec{wire.MessageCodec("protobuf", newProtobuf)}

// protobuf encodes the messages of package message by protobuf's generated code, as in a
// lab's server. A decoded batch may take about 50 times the memory of its message, if its
// operations are empty; therefore they are counted first.
type protobuf struct{ out []byte } // the headroom, and the last message

func newProtobuf() *protobuf { return new(protobuf) }

// Release frees the last message.
func (p *protobuf) Release() { p.out = nil }

func (p *protobuf) encode(m proto.Message) (frame []byte, err error) {
	var headroom [kvs.Headroom]byte
	p.out, err = proto.MarshalOptions{}.MarshalAppend(append(p.out[:0], headroom[:]...), m)
	return p.out, err
}

// decode decodes a message that is a list of entries, if there are as many as announced.
func (p *protobuf) decode(what, entries string, text []byte, announced int, m proto.Message) error {
	listed := 0
	for rest := text; len(rest) > 0; {
		number, kind, n := protowire.ConsumeField(rest)
		if n < 0 {
			return fmt.Errorf("%w protobuf: %w", kvs.ErrMalformed, protowire.ParseError(n))
		}
		if number == 1 && kind == protowire.BytesType {
			listed++
		}
		rest = rest[n:]
	}
	if err := wire.CheckAnnounced(what, entries, listed, announced); err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, m); err != nil {
		return fmt.Errorf("%w protobuf: %w", kvs.ErrMalformed, err)
	}
	return nil
}

func (p *protobuf) EncodeBatch(batch *kvs.Batch) ([]byte, error) {
	ops := make([]pb.Operation, batch.Len())
	out := pb.Batch{Ops: make([]*pb.Operation, 0, len(ops))}
	if err := wire.EachOp(batch, func(op kvs.Op) {
		o := &ops[len(out.Ops)]
		o.Key, o.Value, o.Kind = op.Key, op.Value, uint32(op.Kind)
		out.Ops = append(out.Ops, o)
	}); err != nil {
		return nil, err
	}
	return p.encode(&out)
}

func (p *protobuf) DecodeBatch(text []byte, batch *kvs.Batch) error {
	var in pb.Batch
	if err := p.decode("batch", "operations", text, batch.Len(), &in); err != nil {
		return err
	}
	batch.Reset() // protobuf has copied the operations
	for i, op := range in.Ops {
		if err := wire.AppendOp(batch, i, op.Kind, op.Key, op.Value); err != nil {
			return err
		}
	}
	return nil
}

func (p *protobuf) EncodeReply(reply *kvs.Reply) ([]byte, error) {
	entries := make([]pb.Result, reply.Len())
	out := pb.Reply{Results: make([]*pb.Result, len(entries))}
	results := reply.Results()
	for i := range entries {
		result, err := results.Next()
		if err != nil {
			return nil, err
		}
		r := &entries[i]
		r.Value, r.Found, r.Read = result.Value, result.Found, result.Read
		out.Results[i] = r
	}
	return p.encode(&out)
}

func (p *protobuf) DecodeReply(text []byte, reply *kvs.Reply) error {
	var in pb.Reply
	if err := p.decode("reply", "results", text, reply.Len(), &in); err != nil {
		return err
	}
	reply.Reset()
	for _, r := range in.Results {
		wire.AppendResult(reply, r.Value, r.Found, r.Read)
	}
	return nil
}
