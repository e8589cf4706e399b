package kvs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// decode reads a batch to its end, at most step operations at a time.
func decode(b *kvs.Batch, step int) ([]kvs.Op, error) {
	var all []kvs.Op
	scratch := make([]kvs.Op, step)
	for cursor := b.Ops(); ; {
		n, err := cursor.Next(scratch)
		all = append(all, scratch[:n]...)
		if err != nil || n < step {
			return all, err
		}
	}
}

func sameOp(a, b kvs.Op) bool {
	return a.Kind == b.Kind && bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
}

func checkOps(t *testing.T, got, want []kvs.Op) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d operations, want %d", len(got), len(want))
	}
	for i := range want {
		if !sameOp(got[i], want[i]) {
			t.Fatalf("operation %d: %s %.20q %.20q, want %s %.20q %.20q", i,
				got[i].Kind, got[i].Key, got[i].Value, want[i].Kind, want[i].Key, want[i].Value)
		}
	}
}

func TestBatchRoundTrip(t *testing.T) {
	random := kvstest.NewRandom(t)
	var sent, got kvs.Batch // used again and again
	for _, n := range []int{0, 1, 2, 255, 256, 257, 1000, 3} {
		ops := kvstest.RandomOps(random, n, kvs.Kinds)
		sent.Reset()
		kvstest.Fill(&sent, ops)
		body := sent.Frame()[kvs.Headroom:]
		copy(got.Body(len(body), sent.Len()), body)
		for _, step := range []int{1, 7, 256, n + 1} {
			back, err := decode(&got, step)
			if err != nil || got.Len() != n {
				t.Fatalf("%d operations, %d at a time: Len %d, error %v", n, step, got.Len(), err)
			}
			checkOps(t, back, ops)
		}
	}
}

func TestBatchLimits(t *testing.T) {
	long := kvs.Op{Kind: kvs.Put, Key: bytes.Repeat([]byte{0xff}, kvs.MaxKeyLen), Value: bytes.Repeat([]byte("v"), kvs.MaxValueLen)}
	short := kvs.Op{Kind: kvs.ReadModifyWrite, Key: []byte{0}, Value: nil}
	var b kvs.Batch
	kvstest.Fill(&b, []kvs.Op{long, short})
	got, err := decode(&b, 8)
	if err != nil {
		t.Fatal(err)
	}
	checkOps(t, got, []kvs.Op{long, short})

	defer func() {
		if recover() == nil {
			t.Error("a key of 256 bytes was taken")
		}
	}()
	b.Get(make([]byte, kvs.MaxKeyLen+1))
}

// A reader's key or value may be appended to without a write into the batch.
func TestBatchBordersAreClosed(t *testing.T) {
	var b kvs.Batch
	kvstest.Fill(&b, []kvs.Op{{Kind: kvs.Put, Key: []byte("k1"), Value: []byte("v1")}, {Kind: kvs.Get, Key: []byte("k2")}})
	ops, _ := decode(&b, 8)
	_ = append(ops[0].Key, "xxxx"...)
	_ = append(ops[0].Value, "xxxx"...)
	again, err := decode(&b, 8)
	if err != nil {
		t.Fatal(err)
	}
	checkOps(t, again, []kvs.Op{{Kind: kvs.Put, Key: []byte("k1"), Value: []byte("v1")}, {Kind: kvs.Get, Key: []byte("k2")}})
}

func TestZeroBatch(t *testing.T) {
	var b kvs.Batch
	if ops, err := decode(&b, 4); err != nil || len(ops) != 0 || b.Len() != 0 {
		t.Errorf("%d operations, Len %d, error %v", len(ops), b.Len(), err)
	}
	if len(b.Frame()) != kvs.Headroom {
		t.Errorf("a frame of %d bytes, want the headroom of %d", len(b.Frame()), kvs.Headroom)
	}
}

func TestMalformedBatch(t *testing.T) {
	huge := binary.AppendUvarint([]byte{byte(kvs.Put), 1, 'k'}, 1<<63)
	tests := []struct {
		name string
		body []byte
		n    int
	}{
		{"nothing where one is due", nil, 1},
		{"kind alone", []byte{0}, 1},
		{"empty key", []byte{byte(kvs.Get), 0}, 1},
		{"empty key with value", []byte{byte(kvs.Put), 0, 1, 'v'}, 1},
		{"unknown kind", []byte{kvs.Kinds, 1, 'k'}, 1},
		{"delete with a value", []byte{byte(kvs.Delete), 1, 'k', 0}, 1},
		{"scan without a limit", []byte{byte(kvs.Scan), 1, 'k'}, 1},
		{"scan with an empty limit", []byte{byte(kvs.Scan), 1, 'k', 0}, 1},
		{"scan of no pair", []byte{byte(kvs.Scan), 1, 'k', 1, 0}, 1},
		{"scan of too many pairs", []byte{byte(kvs.ScanPart), 1, 'k', 3, 0x81, 0x80, 0x04}, 1},
		{"scan whose limit breaks off", []byte{byte(kvs.Scan), 1, 'k', 1, 0x80}, 1},
		{"scan whose limit has bytes behind it", []byte{byte(kvs.Scan), 1, 'k', 2, 1, 1}, 1},
		{"kind 255", []byte{255, 1, 'k', 0}, 1},
		{"key breaks off", []byte{byte(kvs.Get), 3, 'k', 'k'}, 1},
		{"no value length", []byte{byte(kvs.Put), 1, 'k'}, 1},
		{"value length breaks off", []byte{byte(kvs.Put), 1, 'k', 0x80}, 1},
		{"value length beyond 64 bits", append([]byte{byte(kvs.Put), 1, 'k'}, bytes.Repeat([]byte{0xff}, 11)...), 1},
		{"value length 2^63", huge, 1},
		{"value breaks off", []byte{byte(kvs.Put), 1, 'k', 2, 'v'}, 1},
		{"value longer than the limit", append(binary.AppendUvarint([]byte{byte(kvs.Put), 1, 'k'}, kvs.MaxValueLen+1), make([]byte, kvs.MaxValueLen+1)...), 1},
		{"bytes behind the last operation", []byte{byte(kvs.Get), 1, 'k', 0}, 1},
		{"count too low", []byte{byte(kvs.Get), 1, 'k', byte(kvs.Get), 1, 'k'}, 1},
		{"count too high", []byte{byte(kvs.Get), 1, 'k', byte(kvs.Get), 1, 'k'}, 3},
		{"bytes in an empty batch", []byte{0}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, step := range []int{1, 2, 256} {
				if ops, err := decode(kvstest.Received(test.body, test.n), step); !errors.Is(err, kvs.ErrMalformed) {
					t.Errorf("%d at a time: %d operations, error %v; want one that wraps ErrMalformed", step, len(ops), err)
				}
			}
		})
	}
}

// Whatever stands before the break is still read as it was written.
func TestTruncatedBatch(t *testing.T) {
	ops := []kvs.Op{
		{Kind: kvs.Get, Key: []byte("alpha")},
		{Kind: kvs.Put, Key: []byte("b"), Value: bytes.Repeat([]byte("v"), 200)},
		{Kind: kvs.ReadModifyWrite, Key: []byte("gamma"), Value: []byte{}},
		{Kind: kvs.Delete, Key: []byte("delta")},
		{Kind: kvs.ScanPart, Key: []byte("epsilon"), Value: []byte{100}},
		{Kind: kvs.Get, Key: []byte("zeta")},
	}
	var b kvs.Batch
	kvstest.Fill(&b, ops)
	body := b.Frame()[kvs.Headroom:]
	for cut := range body {
		got, err := decode(kvstest.Received(body[:cut], len(ops)), 256)
		if !errors.Is(err, kvs.ErrMalformed) {
			t.Fatalf("cut to %d of %d bytes: error %v", cut, len(body), err)
		}
		checkOps(t, got, ops[:len(got)])
	}
}

// FuzzOps: no body makes the decoder panic, and what it accepts survives a
// round trip.
func FuzzOps(f *testing.F) {
	random := kvstest.NewRandom(f)
	for n := range 4 {
		var b kvs.Batch
		kvstest.Fill(&b, kvstest.RandomOps(random, n, kvs.Kinds))
		f.Add(b.Frame()[kvs.Headroom:], uint16(n))
	}
	f.Add([]byte{byte(kvs.Put), 1, 'k', 0x80, 0x00}, uint16(1)) // a length in more bytes than it needs
	f.Fuzz(func(t *testing.T, body []byte, n uint16) {
		ops, err := decode(kvstest.Received(body, int(n)), 3)
		if err != nil {
			if !errors.Is(err, kvs.ErrMalformed) {
				t.Fatalf("error %v does not wrap ErrMalformed", err)
			}
			return
		}
		if len(ops) != int(n) {
			t.Fatalf("%d operations, want %d", len(ops), n)
		}
		var again kvs.Batch
		kvstest.Fill(&again, ops)
		back, err := decode(&again, 256)
		if err != nil {
			t.Fatal(err)
		}
		checkOps(t, back, ops)
	})
}
