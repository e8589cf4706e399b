package wire

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

var protobufOptions = Options{Hello: Hello{Node: "node0", Codec: "protobuf"}, Token: "secret"}

// protobufField is a field of bytes by protobuf's encoding: protobuf.dev/programming-guides/encoding.
func protobufField(number byte, value string) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(value))), value...)
}

// protobufOp is a batch's entry for an operation. Fields with their zero value are absent.
func protobufOp(kind uint64, key, value string) []byte {
	var fields []byte
	if key != "" {
		fields = append(fields, protobufField(1, key)...)
	}
	if value != "" {
		fields = append(fields, protobufField(2, value)...)
	}
	if kind != 0 {
		fields = binary.AppendUvarint(append(fields, 3<<3), kind)
	}
	return protobufField(1, string(fields))
}

// protobufResult is a reply's entry for a result.
func protobufResult(value string, found, read bool) []byte {
	var fields []byte
	if value != "" {
		fields = append(fields, protobufField(1, value)...)
	}
	for i, set := range []bool{found, read} {
		if set {
			fields = append(fields, byte(i+2)<<3, 1)
		}
	}
	return protobufField(1, string(fields))
}

// A program that knows message.proto can write a client, and a later version of it may send
// fields that the server does not know.
func TestProtobufIsOpen(t *testing.T) {
	s := startServer(t, protobufOptions, ordered(t))
	failure, reply := newStranger(t, s, protobufOptions).call(t, slices.Concat(
		protobufOp(0, "k", ""), protobufOp(1, "k", "v"), protobufOp(2, "k", "w"), protobufField(2, "unknown"), protobufOp(0, "k", ""),
		protobufOp(3, "l", "new"), protobufOp(5, "a", "\x02"), protobufOp(4, "k", ""), protobufOp(4, "k", ""), protobufOp(1, "e", ""), protobufOp(0, "e", "")), 10)
	want := slices.Concat(
		protobufResult("", false, true), protobufResult("", false, false), protobufResult("v", true, true), protobufResult("w", true, true),
		protobufResult("", false, false), protobufResult("\x01k\x01w\x01l\x03new", true, true), protobufResult("", false, false), protobufResult("", false, true),
		protobufResult("", false, false), protobufResult("", true, true))
	if failure != "" || string(reply) != string(want) {
		t.Errorf("error %q, reply %q, want %q", failure, reply, want)
	}
}

// Batches that no binary client could send are refused, as there.
func TestProtobufMalformedBatch(t *testing.T) {
	for name, message := range map[string][]byte{
		"no key":                           protobufOp(0, "", ""),
		"long key":                         protobufOp(0, strings.Repeat("k", kvs.MaxKeyLen+1), ""),
		"long value":                       protobufOp(1, "k", strings.Repeat("v", kvs.MaxValueLen+1)),
		"unknown kind":                     protobufOp(uint64(kvs.Kinds), "k", ""),
		"unknown kind of 9 bits":           protobufOp(1<<8, "k", ""),
		"scan without a limit":             protobufOp(uint64(kvs.Scan), "k", ""),
		"two operations in a frame of one": slices.Concat(protobufOp(0, "k", ""), protobufOp(0, "k", "")),
		"no operation in a frame of one":   protobufField(2, "k"),
		"a byte more":                      append(protobufOp(0, "k", ""), 0),
		"a byte less":                      protobufOp(0, "key", "")[:4],
		"no message":                       []byte("no message"),
		"an operation that is no message":  protobufField(1, "\x0a\x7f"),
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, protobufOptions, engine.NewMutex())
			failure, _ := newStranger(t, s, protobufOptions).call(t, message, 1)
			if !strings.Contains(failure, "malformed") {
				t.Errorf("error %q, want that the batch is malformed", failure)
			}
		})
	}
}

// More operations than announced are refused before they are decoded, and more than the
// limit before they are read.
func TestProtobufBomb(t *testing.T) {
	const ops = 2 << 16
	options := protobufOptions
	options.Limits = DefaultLimits()
	options.Limits.Batch = ops - 1
	s := startServer(t, options, engine.NewMutex())
	bomb := []byte(strings.Repeat("\x0a\x00", ops))
	for announced, want := range map[uint32]error{ops: errLimit, 1: kvs.ErrMalformed} {
		s.rawConn(t, protobufOptions).Write(sealed(bomb, 1, announced, false))
		if err := s.end(t); !errors.Is(err, want) || !strings.Contains(err.Error(), "131072 operations") {
			t.Errorf("%d operations announced: %v, want %v and the number", announced, err, want)
		}
	}
}
