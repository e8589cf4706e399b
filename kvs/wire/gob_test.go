package wire

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"net"
	"net/rpc"
	"strings"
	"testing"
	"testing/iotest"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

var gobOptions = Options{Hello: Hello{Node: "node0", Codec: "gob"}, Token: "secret"}

// stranger speaks gob by itself, as a lab's own client would.
type stranger struct {
	net.Conn
	enc *gob.Encoder
	dec *gob.Decoder
}

func newStranger(t *testing.T, s *server) stranger {
	conn := s.rawConn(t, gobOptions)
	return stranger{conn, gob.NewEncoder(conn), gob.NewDecoder(bufio.NewReader(conn))}
}

// call sends a request and returns the reply's header and body.
func (s stranger) call(t *testing.T, method string, body any) (rpc.Response, gobReply) {
	t.Helper()
	if err := errors.Join(s.enc.Encode(rpc.Request{ServiceMethod: method, Seq: 5}), s.enc.Encode(body)); err != nil {
		t.Fatal(err)
	}
	var head rpc.Response
	var reply gobReply
	if err := errors.Join(s.dec.Decode(&head), s.dec.Decode(&reply)); err != nil {
		t.Fatal(err)
	}
	if head.Seq != 5 {
		t.Errorf("the reply to call %d, want 5", head.Seq)
	}
	return head, reply
}

// Operations travel as structs of key, value and kind: a program that knows that can
// write a client with encoding/gob alone.
func TestGobIsOpen(t *testing.T) {
	s := startServer(t, gobOptions, engine.NewMutex())
	type operation struct { // a stranger's own type: gob goes by field names
		Kind  uint8
		Key   string
		Value string
	}
	conn := newStranger(t, s)
	head, reply := conn.call(t, remoteMethod, struct{ Ops []operation }{[]operation{
		{Key: "k"}, {Kind: 1, Key: "k", Value: "v"}, {Kind: 2, Key: "k", Value: "w"}, {Key: "k"},
	}})
	want := []gobResult{{Read: true}, {}, {Value: "v", Read: true, Found: true}, {Value: "w", Read: true, Found: true}}
	if head.Error != "" || len(reply.Results) != len(want) {
		t.Fatalf("error %q, results %v, want %v", head.Error, reply.Results, want)
	}
	for i := range want {
		if reply.Results[i] != want[i] {
			t.Errorf("result %d: %+v, want %+v", i, reply.Results[i], want[i])
		}
	}
}

// A call of another method ends the connection.
func TestGobUnknownMethod(t *testing.T) {
	for _, method := range []string{"KVS.Flush", "Other.BatchPutGet", ""} {
		codec := newGobServer(newTape(gobRequest(t, method)), Features{}, Limits{})
		if err := codec.read(new(Request)); !errors.Is(err, errFrame) {
			t.Errorf("%q: error %v, want one that wraps errFrame", method, err)
		}
	}
	if err := newGobServer(newTape(gobRequest(t, remoteMethod)), Features{}, Limits{}).read(new(Request)); err != nil {
		t.Error(err)
	}
}

// gobRequest returns a call of a method as a client encodes it.
func gobRequest(t *testing.T, method string) []byte {
	t.Helper()
	var text bytes.Buffer
	out := gob.NewEncoder(&text)
	if err := errors.Join(out.Encode(rpc.Request{ServiceMethod: method}), out.Encode(gobBatch{Ops: []gobOp{{Key: "k"}}})); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// Batches that no binary client could send are refused, as there.
func TestGobMalformedBatch(t *testing.T) {
	tests := []struct {
		name string
		op   gobOp
	}{
		{"no key", gobOp{}},
		{"long key", gobOp{Key: strings.Repeat("k", kvs.MaxKeyLen+1)}},
		{"long value", gobOp{Key: "k", Kind: uint8(kvs.Put), Value: strings.Repeat("v", kvs.MaxValueLen+1)}},
		{"unknown kind", gobOp{Key: "k", Kind: 3}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := startServer(t, gobOptions, engine.NewMutex())
			head, _ := newStranger(t, s).call(t, remoteMethod, gobBatch{Ops: []gobOp{test.op}})
			if !strings.Contains(head.Error, "malformed batch") {
				t.Errorf("error %q, want that the batch is malformed", head.Error)
			}
		})
	}
}

// A message beyond the cap ends the connection with an error that says so, before
// the message has come.
func TestGobCap(t *testing.T) {
	for _, test := range []struct{ length, want string }{
		{"\xfc\x10\x00\x00\x00", "a gob message of 268435456 bytes"},
		{"\xfc\x04\x00\x00\x01", "a gob message of 67108865 bytes"},
		{"\xf8\xff\xff\xff\xff\xff\xff\xff\xff", "a gob message of 18446744073709551615 bytes"},
		{"\x00", "a gob message of 0 bytes"},
	} {
		s := startServer(t, gobOptions, engine.NewMutex())
		conn := s.rawConn(t, gobOptions)
		if _, err := conn.Write([]byte(test.length)); err != nil {
			t.Fatal(err)
		}
		if err := s.end(t); !errors.Is(err, errFrame) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%x: error %v, want one that wraps errFrame with %q", test.length, err, test.want)
		}
		checkClosed(t, conn)
	}
}

// A stream of messages of all lengths arrives unchanged, in reads of any size.
func TestGobReader(t *testing.T) {
	random := newRandom(t)
	var stream bytes.Buffer
	enc := gob.NewEncoder(&stream)
	for _, size := range []int{0, 1, 100, 126, 127, 128, 255, 256, 65535, 1 << 20} {
		value := make([]byte, size)
		for i := range value {
			value[i] = byte(random.Uint32())
		}
		if err := enc.Encode(struct{ Value []byte }{value}); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range []io.Reader{
		bytes.NewReader(stream.Bytes()), iotest.HalfReader(bytes.NewReader(stream.Bytes())), iotest.OneByteReader(bytes.NewReader(stream.Bytes())),
	} {
		got, err := io.ReadAll(&gobReader{in: bufio.NewReader(in), limits: DefaultLimits()})
		if err != nil || !bytes.Equal(got, stream.Bytes()) {
			t.Errorf("%T: %d bytes (%v), want the stream's %d", in, len(got), err, stream.Len())
		}
	}
}

func TestGobGarbage(t *testing.T) {
	s := startServer(t, gobOptions, engine.NewMutex())
	other := s.dial(t, gobOptions)
	conn := s.rawConn(t, gobOptions)
	conn.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" + strings.Repeat("x", 200)))
	if err := s.end(t); err == nil {
		t.Error("Serve returned without an error")
	}
	checkClosed(t, conn)
	var batch kvs.Batch
	batch.Get([]byte("k"))
	if _, err := call(other, &batch); err != nil {
		t.Errorf("the other connection: %v", err)
	}
}
