package kvs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// decodeCompact reads a compact batch to its end, at most step operations at a time.
func decodeCompact(b *kvs.Batch, step int) (all []kvs.Op, held []kvs.Version, err error) {
	scratch, versions := make([]kvs.Op, step), make([]kvs.Version, step)
	var cursor kvs.CompactOps
	for cursor.Read(b); ; {
		n, err := cursor.Next(scratch, versions)
		for _, op := range scratch[:n] {
			op.Key = bytes.Clone(op.Key) // valid until the next call
			all = append(all, op)
		}
		held = append(held, versions[:n]...)
		if err != nil || n < step {
			return all, held, err
		}
	}
}

func fillCompact(b *kvs.Batch, ops []kvs.Op, held []kvs.Version) {
	for i := range ops {
		b.AppendCompact(&ops[i], held[i])
	}
}

// compactKey returns a key of a random form: a number, digits that are none, or any bytes.
func compactKey(random *rand.Rand) []byte {
	switch random.IntN(6) {
	case 0:
		return strconv.AppendUint(nil, random.Uint64N(1_000_000), 10)
	case 1:
		return strconv.AppendUint(nil, random.Uint64()>>random.IntN(64), 10)
	case 2:
		return append([]byte("00")[:random.IntN(3)], strconv.Itoa(random.IntN(100))...)
	case 3:
		return bytes.Repeat([]byte{byte('0' + random.IntN(10))}, 1+random.IntN(kvs.MaxKeyLen))
	case 4:
		return fmt.Appendf(nil, "user%d", random.Uint64())
	}
	return kvstest.RandomBytes(random, 1+random.IntN(kvs.MaxKeyLen))
}

// compactOps returns n operations of all kinds but scans, and what a client holds of each:
// 0 unless it reads.
func compactOps(random *rand.Rand, n int) ([]kvs.Op, []kvs.Version) {
	ops, held := kvstest.RandomOps(random, n, kvs.Scan), make([]kvs.Version, n)
	for i := range ops {
		ops[i].Key = compactKey(random)
		if ops[i].Kind.Reads() {
			held[i] = kvs.Version(random.Uint32() >> random.IntN(33))
		}
	}
	return ops, held
}

func checkCompact(t *testing.T, b *kvs.Batch, step int, ops []kvs.Op, held []kvs.Version) {
	t.Helper()
	got, versions, err := decodeCompact(b, step)
	if err != nil {
		t.Fatal(err)
	}
	checkOps(t, got, ops)
	for i := range held {
		if versions[i] != held[i] {
			t.Fatalf("operation %d: held version %d, want %d", i, versions[i], held[i])
		}
	}
}

// A compact batch has the operations of the plain one, and the held versions.
func TestCompactRoundTrip(t *testing.T) {
	random := kvstest.NewRandom(t)
	var plain, compact, got kvs.Batch // used again and again
	for _, n := range []int{0, 1, 2, 255, 256, 257, 1000, 3} {
		ops, held := compactOps(random, n)
		plain.Reset()
		compact.Reset()
		kvstest.Fill(&plain, ops)
		fillCompact(&compact, ops, held)
		want, err := decode(&plain, 100)
		if err != nil {
			t.Fatal(err)
		}
		body := compact.Frame()[kvs.Headroom:]
		copy(got.Body(len(body), compact.Len()), body)
		for _, step := range []int{1, 7, 256, n + 1} {
			checkCompact(t, &got, step, want, held)
		}
	}
}

// The bytes of an operation in the compact form. A Get of a 6-digit id with a version of two
// bytes takes 6.
func TestCompactSizes(t *testing.T) {
	text := func(n int) string { return string(bytes.Repeat([]byte("k"), n)) }
	tests := []struct {
		kind kvs.Kind
		key  string
		held kvs.Version
		size int // with a value of 3 bytes
	}{
		{kvs.Get, "0", 0, 3},
		{kvs.Get, "127", 127, 3},
		{kvs.Get, "999999", 16383, 6},
		{kvs.Get, "999999999999999999", math.MaxUint32, 1 + 9 + 5}, // 18 digits are a number
		{kvs.Get, "1000000000000000000", 0, 1 + 19 + 1},            // and 19 are bytes
		{kvs.Get, "00", 0, 4},
		{kvs.Get, "01234", 0, 7},
		{kvs.Get, "12a4", 0, 6},
		{kvs.Get, "/", 0, 3},
		{kvs.Get, ":", 0, 3},
		{kvs.Get, text(30), 0, 1 + 30 + 1},
		{kvs.Get, text(31), 0, 2 + 31 + 1},
		{kvs.Get, text(kvs.MaxKeyLen), 0, 2 + kvs.MaxKeyLen + 1},
		{kvs.Delete, "999999", 16383, 4}, // it reads no value
		{kvs.Put, "999999", 16383, 4 + 4},
		{kvs.Insert, "999999", 0, 4 + 4},
		{kvs.ReadModifyWrite, "999999", 16383, 6 + 4},
	}
	for _, test := range tests {
		op := kvs.Op{Kind: test.kind, Key: []byte(test.key)}
		if test.kind.Carries() {
			op.Value = []byte("val")
		}
		var b kvs.Batch
		b.AppendCompact(&op, test.held)
		if b.Size() != test.size {
			t.Errorf("%s of %.20q, held %d: %d bytes, want %d", test.kind, test.key, test.held, b.Size(), test.size)
		}
		if !test.kind.Reads() {
			test.held = 0
		}
		checkCompact(t, &b, 2, []kvs.Op{op}, []kvs.Version{test.held})
	}
}

func TestMalformedCompact(t *testing.T) {
	const bytesForm, longForm = 1 << 3, 31 << 3 // of a key of one byte, and one with a length
	tests := []struct {
		name string
		body []byte
		n    int
	}{
		{"nothing where one is due", nil, 1},
		{"head alone", []byte{byte(kvs.Get)}, 1},
		{"scan", []byte{byte(kvs.Scan) | bytesForm, 'k', 0, 1, 1}, 1},
		{"part of a scan", []byte{byte(kvs.ScanPart) | bytesForm, 'k', 0, 1, 1}, 1},
		{"kind 7", []byte{7 | bytesForm, 'k', 0}, 1},
		{"number breaks off", []byte{byte(kvs.Get), 0x80}, 1},
		{"number beyond 64 bits", append([]byte{byte(kvs.Get)}, bytes.Repeat([]byte{0xff}, 11)...), 1},
		{"key breaks off", []byte{byte(kvs.Get) | 3<<3, 'k', 'k'}, 1},
		{"no held version", []byte{byte(kvs.Get) | bytesForm, 'k'}, 1},
		{"no held version of a number", []byte{byte(kvs.Get), 5}, 1},
		{"held version breaks off", []byte{byte(kvs.Get) | bytesForm, 'k', 0x80}, 1},
		{"held version of 2^32", append([]byte{byte(kvs.Get), 1}, binary.AppendUvarint(nil, 1<<32)...), 1},
		{"long key breaks off", append([]byte{byte(kvs.Get) | longForm, 40}, make([]byte, 39)...), 1},
		{"long key without a byte", []byte{byte(kvs.Get) | longForm, 31}, 1},
		{"empty key in the long form", []byte{byte(kvs.Get) | longForm, 0, 0}, 1},
		{"short key in the long form", []byte{byte(kvs.Get) | longForm, 1, 'k', 0}, 1},
		{"no value length", []byte{byte(kvs.Put) | bytesForm, 'k'}, 1},
		{"value length breaks off", []byte{byte(kvs.Put) | bytesForm, 'k', 0x80}, 1},
		{"value length 2^63", append([]byte{byte(kvs.Put) | bytesForm, 'k'}, binary.AppendUvarint(nil, 1<<63)...), 1},
		{"value breaks off", []byte{byte(kvs.Put) | bytesForm, 'k', 2, 'v'}, 1},
		{"read-modify-write without a value", []byte{byte(kvs.ReadModifyWrite) | bytesForm, 'k', 0}, 1},
		{"value longer than the limit", append([]byte{byte(kvs.Put) | bytesForm, 'k'}, append(binary.AppendUvarint(nil, kvs.MaxValueLen+1), make([]byte, kvs.MaxValueLen+1)...)...), 1},
		{"bytes behind the last operation", []byte{byte(kvs.Get) | bytesForm, 'k', 0, 0}, 1},
		{"count too low", []byte{byte(kvs.Get), 1, 0, byte(kvs.Get), 1, 0}, 1},
		{"count too high", []byte{byte(kvs.Get), 1, 0, byte(kvs.Get), 1, 0}, 3},
		{"bytes in an empty batch", []byte{0}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, step := range []int{1, 2, 256} {
				if ops, _, err := decodeCompact(kvstest.Received(test.body, test.n), step); !errors.Is(err, kvs.ErrMalformed) {
					t.Errorf("%d at a time: %d operations, error %v; want one that wraps ErrMalformed", step, len(ops), err)
				}
			}
		})
	}
}

// What stands before the break is read as it was written.
func TestTruncatedCompact(t *testing.T) {
	random := kvstest.NewRandom(t)
	ops, held := compactOps(random, 30)
	for i := range ops {
		ops[i].Value = ops[i].Value[:min(len(ops[i].Value), 40)]
	}
	var b kvs.Batch
	fillCompact(&b, ops, held)
	body := b.Frame()[kvs.Headroom:]
	for cut := range body {
		got, _, err := decodeCompact(kvstest.Received(body[:cut], len(ops)), 7)
		if !errors.Is(err, kvs.ErrMalformed) {
			t.Fatalf("cut to %d of %d bytes: error %v", cut, len(body), err)
		}
		checkOps(t, got, ops[:len(got)])
	}
}

// FuzzCompactOps: no body makes the decoder panic, and what it accepts survives a round
// trip.
func FuzzCompactOps(f *testing.F) {
	random := kvstest.NewRandom(f)
	for n := range 4 {
		var b kvs.Batch
		fillCompact(&b, first(compactOps(random, n)), make([]kvs.Version, n))
		f.Add(b.Frame()[kvs.Headroom:], uint16(n))
	}
	f.Add(binary.AppendUvarint([]byte{byte(kvs.Delete)}, math.MaxUint64), uint16(1))
	f.Fuzz(func(t *testing.T, body []byte, n uint16) {
		ops, held, err := decodeCompact(kvstest.Received(body, int(n)), 3)
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
		fillCompact(&again, ops, held)
		checkCompact(t, &again, 256, ops, held)
	})
}

func first[A, B any](a A, _ B) A { return a }
