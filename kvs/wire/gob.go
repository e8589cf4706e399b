package wire

import (
	"bytes"
	"encoding/gob"
	"fmt"

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

func (s *gobStream) EncodeBatch(batch *kvs.Batch) ([]byte, error) {
	out := gobBatch{Ops: make([]gobOp, 0, batch.Len())}
	if err := EachOp(batch, func(op kvs.Op) {
		out.Ops = append(out.Ops, gobOp{Key: string(op.Key), Value: string(op.Value), Kind: uint8(op.Kind)})
	}); err != nil {
		return nil, err
	}
	return s.frame(out)
}

func (s *gobStream) DecodeBatch(message []byte, batch *kvs.Batch) error {
	var in gobBatch
	if err := s.decode(message, &in); err != nil {
		return err
	}
	if err := CheckAnnounced("batch", "operations", len(in.Ops), batch.Len()); err != nil {
		return err
	}
	batch.Reset() // gob has copied the operations
	for i, op := range in.Ops {
		if err := AppendOp(batch, i, uint32(op.Kind), []byte(op.Key), []byte(op.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (s *gobStream) EncodeReply(reply *kvs.Reply) ([]byte, error) {
	out := gobReply{Results: make([]gobResult, reply.Len())}
	results := reply.Results()
	for i := range out.Results {
		result, err := results.Next()
		if err != nil {
			return nil, err
		}
		out.Results[i] = gobResult{Value: string(result.Value), Found: result.Found, Read: result.Read}
	}
	return s.frame(out)
}

func (s *gobStream) DecodeReply(message []byte, reply *kvs.Reply) error {
	var in gobReply
	if err := s.decode(message, &in); err != nil {
		return err
	}
	reply.Reset()
	for i := range in.Results {
		result := &in.Results[i]
		AppendResult(reply, []byte(result.Value), result.Found, result.Read)
	}
	return nil
}

// Release keeps what gob knows of the connection's types.
func (s *gobStream) Release() { s.in, s.out = bytes.Reader{}, bytes.Buffer{} }
