package codecs

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

func init() { wire.Link(Rows) }

// protobufField returns a field of bytes by protobuf's encoding: protobuf.dev/programming-guides/encoding.
func protobufField(number byte, value string) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(value))), value...)
}

// protobufOp returns a batch's entry for an operation. Fields with their zero value are absent.
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

// protobufResult returns a reply's entry for a result.
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

// decoded returns the operations of a message that a frame of some operations carries, as a
// server reads them.
func decoded(p *protobuf, message []byte, announced int) ([]kvs.Op, error) {
	batch := kvstest.Received(message, announced)
	if err := p.DecodeBatch(batch.Frame()[kvs.Headroom:], batch); err != nil {
		return nil, err
	}
	ops, cursor := make([]kvs.Op, batch.Len()+1), batch.Ops()
	n, err := cursor.Next(ops)
	return ops[:n], err
}

// A program that knows message.proto can write a client, and a later version of it may send
// fields that the server does not know.
func TestProtobufIsOpen(t *testing.T) {
	ops, err := decoded(newProtobuf(), slices.Concat(
		protobufOp(0, "k", ""), protobufOp(1, "k", "v"), protobufOp(2, "k", "w"), protobufField(2, "unknown"),
		protobufOp(3, "l", "new"), protobufOp(5, "a", "\x02"), protobufOp(4, "k", ""), protobufOp(1, "e", "")), 7)
	want := []kvs.Op{{Kind: kvs.Get, Key: []byte("k")}, {Kind: kvs.Put, Key: []byte("k"), Value: []byte("v")}, {Kind: kvs.ReadModifyWrite, Key: []byte("k"), Value: []byte("w")},
		{Kind: kvs.Insert, Key: []byte("l"), Value: []byte("new")}, {Kind: kvs.Scan, Key: []byte("a"), Value: []byte{2}}, {Kind: kvs.Delete, Key: []byte("k")}, {Kind: kvs.Put, Key: []byte("e")}}
	if err != nil || !slices.EqualFunc(ops, want, func(a, b kvs.Op) bool {
		return a.Kind == b.Kind && string(a.Key) == string(b.Key) && string(a.Value) == string(b.Value)
	}) {
		t.Errorf("operations %v, %v; want %v", ops, err, want)
	}
	var reply kvs.Reply
	reply.Reset()
	reply.Missing()
	reply.Stored()
	reply.Found([]byte("v"))
	reply.Found(nil)
	frame, err := newProtobuf().EncodeReply(&reply)
	if text := slices.Concat(protobufResult("", false, true), protobufResult("", false, false), protobufResult("v", true, true), protobufResult("", true, true)); err != nil || string(frame[kvs.Headroom:]) != string(text) {
		t.Errorf("reply %q, %v; want %q", frame[kvs.Headroom:], err, text)
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
		if ops, err := decoded(newProtobuf(), message, 1); !errors.Is(err, kvs.ErrMalformed) {
			t.Errorf("%s: operations %v, %v; want that the batch is malformed", name, ops, err)
		}
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// More operations than announced are refused before they are decoded.
func TestProtobufBomb(t *testing.T) {
	const ops = 2 << 16
	bomb := kvstest.Received([]byte(strings.Repeat("\x0a\x00", ops)), 1)
	took := allocated(func() {
		if err := newProtobuf().DecodeBatch(bomb.Frame()[kvs.Headroom:], bomb); !errors.Is(err, kvs.ErrMalformed) || !strings.Contains(err.Error(), "131072 operations in a frame of 1") {
			t.Errorf("%v, want the number of operations", err)
		}
	})
	if took > 1<<16 {
		t.Errorf("%d bytes for a refusal", took)
	}
}

// To decode a batch of the largest body, or of the most operations, allocates four of the
// largest messages at most.
func TestProtobufMemory(t *testing.T) {
	for name, test := range map[string]struct {
		message []byte
		ops     int
	}{
		"the largest values":  {slices.Repeat(protobufOp(uint64(kvs.Put), "key", strings.Repeat("v", kvs.MaxValueLen)), 62), 62},
		"the most operations": {slices.Repeat(protobufOp(uint64(kvs.Get), "key", ""), 1<<20), 1 << 20},
	} {
		batch := kvstest.Received(test.message, test.ops)
		took := allocated(func() {
			if err := newProtobuf().DecodeBatch(batch.Frame()[kvs.Headroom:], batch); err != nil {
				t.Error(err)
			}
		})
		if t.Logf("%s: %d MiB for a message of %d MiB", name, took>>20, len(test.message)>>20); took > 4*kvs.MaxBody {
			t.Errorf("%s: %d MiB, want at most %d", name, took>>20, 4*kvs.MaxBody>>20)
		}
	}
}

// A store gives the results by TCP that it gives without a network, for the same batches.
func TestCallsAgreeWithoutNetwork(t *testing.T) {
	random, open := kvstest.NewRandom(t), func() *service.Service {
		e, err := engine.Open("btree", engine.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return service.New(e)
	}
	o := wire.Options{Hello: wire.Hello{Node: "node0", Codec: "protobuf"}}
	far, near := open(), open().Open("near")
	addr := wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, o, far, server.PerConn) }).Addr().String()
	client, _, err := wire.Dial(t.Context(), addr, o)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, ops := range []int{0, 1, 255, 257, 2000, 0, 3} {
		batch := randomBatch(random, ops)
		call := kvs.Call{Batch: batch, Reply: new(kvs.Reply)}
		client.Send(&call)
		if err := client.Wait(&call); err != nil {
			t.Fatalf("%d operations: %v", ops, err)
		}
		var want kvs.Reply
		if err := near.BatchPutGet(batch, &want); err != nil {
			t.Fatal(err)
		}
		got, wrong := kvstest.DecodeReply(call.Reply)
		right, err := kvstest.DecodeReply(&want)
		if wrong != nil || err != nil || !slices.EqualFunc(got, right, func(a, b kvs.Result) bool {
			return a.Found == b.Found && a.Read == b.Read && string(a.Value) == string(b.Value)
		}) {
			t.Fatalf("%d operations: other results than without a network (%v, %v)", ops, wrong, err)
		}
		if call.Reply.Served != 0 {
			t.Errorf("the reply says %v of the server", call.Reply.Served)
		}
	}
}

// randomBatch has few keys, short scans and values of 300 bytes at most.
func randomBatch(random *rand.Rand, n int) *kvs.Batch {
	var batch kvs.Batch
	ops := kvstest.RandomOps(random, n, kvs.Kinds)
	for i := range ops {
		op := &ops[i]
		if op.Key = []byte{byte(random.IntN(200))}; op.Kind.Scans() {
			op.Value = []byte{byte(1 + random.IntN(50))}
		}
		op.Value = op.Value[:min(len(op.Value), 300)]
	}
	kvstest.Fill(&batch, ops)
	return &batch
}

func TestFeatures(t *testing.T) {
	for flag, features := range map[string]wire.Features{"-cache": {Cache: true}, "-dedup": {Dedup: true}, "-crc": {CRC: true}, "-retry": {Retry: true}} {
		if err := wire.CheckCodec("protobuf", features); err == nil || err.Error() != flag+": -codec protobuf does not support it; want -codec binary" {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if err := wire.CheckCodec("protobuf", wire.Features{}); err != nil {
		t.Error(err)
	}
}

// protobufSeeds returns a batch, whole and cut off, entries that are no operations, groups in
// groups, and lengths of 2^64-1.
func protobufSeeds() (seeds [][]byte) {
	right := slices.Concat(protobufOp(uint64(kvs.Put), "a", "x"), protobufOp(uint64(kvs.Get), "a", ""))
	seeds = append(seeds, right)
	for cut := 0; cut < len(right); cut += 3 {
		seeds = append(seeds, right[:cut])
	}
	for _, text := range []string{
		"0a000a00", "08010801", "0b0c", "1b1c0a00", strings.Repeat("0b", 100), "0affffffffffffffffff01", "0a020a7f", "0a0318ff01", "0a05188080808010", "ff",
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			panic(err)
		}
		seeds = append(seeds, raw)
	}
	return seeds
}

// FuzzProtobuf decodes anything as a batch and as a reply: it gives what the frame announced,
// or an error.
func FuzzProtobuf(f *testing.F) {
	for _, seed := range protobufSeeds() {
		f.Add(seed, uint32(2))
	}
	f.Fuzz(func(t *testing.T, text []byte, count uint32) {
		announced := int(count % (1 << 16))
		p, batch := newProtobuf(), kvstest.Received(text, announced)
		switch err := p.DecodeBatch(batch.Frame()[kvs.Headroom:], batch); {
		case err != nil && !errors.Is(err, kvs.ErrMalformed):
			t.Fatalf("error %v does not wrap ErrMalformed", err)
		case err == nil && batch.Len() != announced:
			t.Fatalf("%d operations, %d were announced", batch.Len(), announced)
		}
		var reply kvs.Reply
		copy(reply.Body(len(text), announced, false), text)
		if err := p.DecodeReply(reply.Frame()[kvs.Headroom:], &reply); err != nil {
			if !errors.Is(err, kvs.ErrMalformed) {
				t.Fatalf("error %v does not wrap ErrMalformed", err)
			}
			return
		}
		if results, err := kvstest.DecodeReply(&reply); err != nil || len(results) != announced {
			t.Fatalf("%d results, %v; %d were announced", len(results), err, announced)
		}
	})
}
