package wire

import (
	"bytes"
	"encoding/gob"
	"net"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

var gobOptions = Options{Hello: Hello{Node: "node0", Codec: "gob"}, Token: "secret"}

// stranger encodes its messages by itself.
type stranger struct{ net.Conn }

func newStranger(t *testing.T, s *server, options Options) stranger {
	return stranger{s.rawConn(t, options)}
}

// gobMessage returns a message as encoding/gob alone encodes it.
func gobMessage(t testing.TB, message any) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := gob.NewEncoder(&text).Encode(message); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// call sends a request of some operations and returns the reply's message, or the server's
// error.
func (s stranger) call(t *testing.T, message []byte, ops uint32) (failure string, reply []byte) {
	t.Helper()
	if _, err := s.Write(sealed(message, 5, ops, false)); err != nil {
		t.Fatal(err)
	}
	in := newBinaryConn(s, false)
	if err := in.readHeader(replyFrame, errorFrame); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, in.next.size)
	if err := in.readBody(body); err != nil {
		t.Fatal(err)
	}
	if in.next.seq != 5 {
		t.Errorf("the reply to call %d, want 5", in.next.seq)
	}
	if in.next.kind == errorFrame {
		return string(body), nil
	}
	return "", body
}

// Operations travel as structs of key, value and kind: a program that knows that can
// write a client with encoding/gob alone.
func TestGobIsOpen(t *testing.T) {
	s := startServer(t, gobOptions, ordered(t))
	type operation struct { // a stranger's own type: gob goes by field names
		Kind  uint8
		Key   string
		Value string
	}
	failure, text := newStranger(t, s, gobOptions).call(t, gobMessage(t, struct{ Ops []operation }{[]operation{
		{Key: "k"}, {Kind: 1, Key: "k", Value: "v"}, {Kind: 2, Key: "k", Value: "w"}, {Key: "k"},
		{Kind: 3, Key: "l", Value: "new"}, {Kind: 5, Key: "a", Value: "\x02"}, {Kind: 4, Key: "k"}, {Kind: 4, Key: "k"}, {Kind: 6, Key: "a", Value: "\x02"},
	}}), 9)
	want := []gobResult{{Read: true}, {}, {Value: "v", Read: true, Found: true}, {Value: "w", Read: true, Found: true},
		{}, {Value: "\x01k\x01w\x01l\x03new", Read: true, Found: true}, {}, {Read: true}, {Value: "\x01l\x03new", Read: true, Found: true}}
	var reply gobReply
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&reply); err != nil || len(reply.Results) != len(want) {
		t.Fatalf("error %q, %v, results %v, want %v", failure, err, reply.Results, want)
	}
	for i := range want {
		if reply.Results[i] != want[i] {
			t.Errorf("result %d: %+v, want %+v", i, reply.Results[i], want[i])
		}
	}
}

// Batches that no binary client could send are refused, as there.
func TestGobMalformedBatch(t *testing.T) {
	one := func(op gobOp) []byte { return gobMessage(t, gobBatch{Ops: []gobOp{op}}) }
	tests := []struct {
		name    string
		message []byte
	}{
		{"no key", one(gobOp{})},
		{"long key", one(gobOp{Key: strings.Repeat("k", kvs.MaxKeyLen+1)})},
		{"long value", one(gobOp{Key: "k", Kind: uint8(kvs.Put), Value: strings.Repeat("v", kvs.MaxValueLen+1)})},
		{"unknown kind", one(gobOp{Key: "k", Kind: kvs.Kinds})},
		{"scan without a limit", one(gobOp{Key: "k", Kind: uint8(kvs.Scan)})},
		{"two operations in a frame of one", gobMessage(t, gobBatch{Ops: []gobOp{{Key: "k"}, {Key: "k"}}})},
		{"a byte more", append(one(gobOp{Key: "k"}), 0)},
		{"a byte less", one(gobOp{Key: "k"})[:20]},
		{"no message", []byte("no message")},
		{"another message", gobMessage(t, struct{ Name string }{"k"})},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := startServer(t, gobOptions, engine.NewMutex())
			failure, _ := newStranger(t, s, gobOptions).call(t, test.message, 1)
			if !strings.Contains(failure, "malformed") {
				t.Errorf("error %q, want that the batch is malformed", failure)
			}
		})
	}
}
