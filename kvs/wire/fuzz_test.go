package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/rpc"
	"slices"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// What comes from the network is the part of a program that others write. These
// targets hold every decoder on it to the same promise: no panic, an end to
// every input, and no effect on what came before or stands beside it. .ci/fuzz
// runs them all.

// FuzzHeader: what is taken for a header is one, to the last bit.
func FuzzHeader(f *testing.F) {
	for _, h := range []header{
		{kind: requestFrame},
		{kind: replyFrame, flags: deduped, seq: 1<<64 - 1, count: 1, size: 1},
		{kind: errorFrame, flags: checked, size: kvs.MaxBody, count: kvs.MaxBody, body: 7},
		{kind: requestFrame, size: kvs.MaxBody + 1},
	} {
		frame := make([]byte, headerLen)
		h.put(frame)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) < headerLen {
			return
		}
		frame = frame[:headerLen]
		h, err := parseHeader(frame, requestFrame, replyFrame, errorFrame)
		if err != nil {
			if !errors.Is(err, errFrame) {
				t.Fatalf("error %v does not wrap errFrame", err)
			}
			return
		}
		again := make([]byte, headerLen)
		if h.put(again); !bytes.Equal(frame, again) {
			t.Fatalf("%x is taken for %+v, which is written %x", frame, h, again)
		}
	})
}

// frameSeeds returns what FuzzServer begins with: the bytes of a request, of some number of
// operations, that still need a header and a checksum, or have them.
func frameSeeds() (seeds []frameSeed) {
	var one kvs.Batch
	one.Append(kvs.Put, []byte("a"), []byte("x"))
	one.Get([]byte("b"))
	seeds = append(seeds,
		frameSeed{one.Frame()[headerLen:], 2, true, false},
		frameSeed{one.Frame()[headerLen:], 3, true, true},
		frameSeed{[]byte{}, 0, true, true}, // an empty batch
		frameSeed{[]byte{byte(kvs.Put), 1, 'a', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 1, true, false},
		frameSeed{[]byte{byte(kvs.Get), 200, 'a'}, 1, true, false},                             // a key longer than its frame
		frameSeed{[]byte{byte(kvs.Get), 2, 0, 0xff, byte(kvs.Get), 2, 0, 0xff}, 2, true, true}, // no text, and twice
	)
	long := make([]byte, headerLen)
	header{kind: requestFrame, size: 1<<32 - 1}.put(long)
	seeds = append(seeds, frameSeed{long, 0, false, false})
	whole := sealed(one.Frame()[headerLen:], 7, 2, false)
	for cut := range whole {
		seeds = append(seeds, frameSeed{whole[:cut], 0, false, false})
	}
	return seeds
}

type frameSeed struct {
	middle    []byte
	count     uint32
	seal, crc bool
}

// FuzzServer sends a batch, then anything, with a right header before it or
// without, then a batch once more. The first batch must be answered right
// whatever follows; a right header must be answered, and the last batch after
// it, unless the connection has ended at what is no frame.
func FuzzServer(f *testing.F) {
	for _, seed := range frameSeeds() {
		f.Add(seed.middle, seed.count, seed.seal, seed.crc)
	}
	f.Fuzz(func(t *testing.T, middle []byte, count uint32, seal, crc bool) {
		count %= 1 << 16 // of a right header: larger ones than its body are refused by it
		if seal {
			middle = sealed(middle, 2, count, crc)
		}
		text := slices.Concat(storeAndRead("first", 1, crc), middle, storeAndRead("last", 3, crc))
		conn := newClientTape(t, Options{Hello: Hello{Node: "fuzz", Codec: "binary", Features: Features{CRC: crc}}}, text)
		err := serve(conn, Options{Hello: Hello{Node: "server", Codec: "binary"}}, service.New(engine.NewMutex()))
		all := conn.replies(t, crc)
		if len(all) == 0 || all[0].seq != 1 || !slices.Equal(all[0].words, storedAndRead("first")) {
			t.Fatalf("the first batch is answered %+v (%v)", all, err)
		}
		if seal && int(count) <= len(middle)-headerLen {
			if err != nil || len(all) != 3 || all[1].seq != 2 || all[2].seq != 3 || !slices.Equal(all[2].words, storedAndRead("last")) {
				t.Fatalf("three frames are answered %+v (%v)", all, err)
			}
			if all[1].failure == "" && len(all[1].words) != int(count) {
				t.Fatalf("%d operations are answered %+v", count, all[1])
			}
		}
		if err == nil && len(all) < 2 {
			t.Fatalf("the connection ended well, and %d of 2 batches are answered", len(all))
		}
	})
}

// storeAndRead returns a request that stores a value and reads it back.
func storeAndRead(value string, seq uint64, crc bool) []byte {
	var b kvs.Batch
	b.Append(kvs.Put, []byte("fuzz-"+value), []byte(value))
	b.Get([]byte("fuzz-" + value))
	return sealed(b.Frame()[headerLen:], seq, 2, crc)
}

// storedAndRead returns what storeAndRead must be answered, in words.
func storedAndRead(value string) []string {
	return []string{"found false read false value \"\"", "found true read true value \"" + value + "\""}
}

// FuzzHandshake: strangers are refused whatever they send, and no one gets
// past without the token.
func FuzzHandshake(f *testing.F) {
	t := newClientTape(f, Options{Hello: Hello{Node: "n", Codec: "binary"}}, nil)
	f.Add(t.in.Bytes())
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
	f.Add([]byte{0, 0})
	f.Add([]byte{0xff, 0xff})
	f.Add([]byte("\x02\x00{}\x02\x00{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		conn := newTape(text)
		if err := serve(conn, Options{Hello: Hello{Node: "server", Codec: "binary"}, Token: "secret"}, service.New(engine.NewMutex())); err == nil {
			t.Fatal("a stranger is served")
		}
		if !conn.closed {
			t.Fatal("the connection stays open")
		}
	})
}

// gobSeeds returns the bodies that FuzzGob begins with: a batch, whole and cut off, and
// message lengths of 2^64-1 and the like.
func gobSeeds(t testing.TB) (seeds [][]byte) {
	right := gobMessage(t, gobBatch{Ops: []gobOp{{Key: "a", Value: "x", Kind: uint8(kvs.Put)}, {Key: "a"}}})
	seeds = append(seeds, right)
	for cut := 0; cut < len(right); cut += 7 {
		seeds = append(seeds, right[:cut])
	}
	for _, text := range []string{
		"ff", "01", "00", "f8ffffffffffffffff", "f880000000000000000001",
		"0dff810d02ff820001020000", "1c7f0301010474657374" + strings.Repeat("ff", 20),
	} {
		raw, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, raw)
	}
	return seeds
}

// FuzzGob sends the gob server a frame of anything, and the same again.
func FuzzGob(f *testing.F) {
	for _, seed := range gobSeeds(f) {
		f.Add(seed, uint32(2))
	}
	f.Fuzz(func(t *testing.T, text []byte, count uint32) {
		whole := sealed(text, 1, count, false)
		conn := newClientTape(t, Options{Hello: Hello{Node: "fuzz", Codec: "gob"}}, slices.Concat(whole, whole))
		_ = serve(conn, Options{Hello: Hello{Node: "server", Codec: "gob"}}, service.New(engine.NewMutex()))
		if !conn.closed {
			t.Fatal("the connection stays open")
		}
	})
}

// FuzzClient lets a server answer anything, with a right header before it or
// without: the client gets an error or a reply that the walk over its results
// accepts or refuses, and never another call's.
func FuzzClient(f *testing.F) {
	var r kvs.Reply
	r.Reset()
	r.Found([]byte("value"))
	r.Missing()
	f.Add(r.Frame()[headerLen:], uint32(2), uint8(replyFrame), true)
	f.Add([]byte("no"), uint32(0), uint8(errorFrame), true)
	f.Add([]byte{}, uint32(0), uint8(requestFrame), true)
	f.Add([]byte{3}, uint32(1), uint8(replyFrame), true)
	f.Add(bytes.Repeat([]byte{'K'}, 64), uint32(0), uint8(0), false)
	f.Fuzz(func(t *testing.T, text []byte, count uint32, kind uint8, seal bool) {
		if seal {
			frame := append(make([]byte, headerLen), text...)
			header{kind: frameType(kind), count: count, size: uint32(len(text))}.put(frame)
			text = frame
		}
		codec := newBinaryClient(newTape(text), Features{})
		var head rpc.Response
		if err := codec.ReadResponseHeader(&head); err != nil {
			return
		}
		var reply kvs.Reply
		var body any = &reply
		if head.Error != "" {
			body = nil
		}
		if err := codec.ReadResponseBody(body); err != nil || body == nil {
			return
		}
		if reply.Len() != int(binary.LittleEndian.Uint32(text[16:])) {
			t.Fatalf("%d results, the header says otherwise", reply.Len())
		}
		results := reply.Results()
		for range reply.Len() {
			if _, err := results.Next(); err != nil {
				if !errors.Is(err, kvs.ErrMalformed) {
					t.Fatalf("error %v does not wrap ErrMalformed", err)
				}
				return
			}
		}
		if err := results.End(); err != nil && !errors.Is(err, kvs.ErrMalformed) {
			t.Fatalf("error %v does not wrap ErrMalformed", err)
		}
		if err := codec.ReadResponseHeader(&head); err == nil && len(text) < 2*headerLen {
			t.Fatal("one frame is taken for two")
		} else if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errFrame) {
			return
		} else {
			t.Fatalf("the next frame: %v", err)
		}
	})
}
