package value

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/metrics"
)

const aHash = 0x0123456789abcdef

// thorough returns a checker of values of one size that compares each in full.
func thorough(size int) *Checker {
	return &Checker{Key: Fixed, Size: size, Clients: 4, Workers: 8, Every: 1, Until: 1}
}

func madeValue(size int, hash uint64, w metrics.WriteID) []byte {
	value := bytes.Repeat([]byte{0xee}, size) // putValue overwrites every byte
	Fixed.Put(value, hash, w)
	return value
}

func TestValueRoundTrip(t *testing.T) {
	w := metrics.MakeWriteID(3, 7, 0).Next()
	sizes := []int{128, 1000, kvs.MaxValueLen}
	for size := HeaderLen; size < HeaderLen+20; size++ {
		sizes = append(sizes, size)
	}
	for _, size := range sizes {
		compared, err := thorough(size).Check(madeValue(size, aHash, w), aHash)
		if err != nil || !compared {
			t.Errorf("%d bytes: compared %v, error %v", size, compared, err)
		}
	}
}

// The header's layout is what the comment on valueHeader says.
func TestValueHeader(t *testing.T) {
	w := metrics.MakeWriteID(3, 7, 0)
	for range 5 {
		w = w.Next()
	}
	value, le := madeValue(100, aHash, w), binary.LittleEndian
	hash, version := le.Uint64(value), le.Uint32(value[8:])
	worker, client := le.Uint16(value[12:]), le.Uint16(value[14:])
	if hash != aHash || version != 5 || worker != 7 || client != 3 {
		t.Errorf("hash %x, version %d, worker %d, client %d", hash, version, worker, client)
	}
	if w.Client() != 3 || w.Worker() != 7 {
		t.Errorf("the writer is worker %d of client %d", w.Worker(), w.Client())
	}
}

// A version that overflows leaves the writer who it is.
func TestVersionOverflow(t *testing.T) {
	last := metrics.MakeWriteID(65535, 65535, 0) | (1<<32 - 1)
	if next := last.Next(); next != metrics.MakeWriteID(65535, 65535, 0) {
		t.Errorf("after version 2^32-1: %016x", next)
	}
}

// A wrong bit in the header is found in every value, one in the body in every
// value that is compared.
func TestValueBitFlips(t *testing.T) {
	const size = 67 // a body that ends within a word
	right := madeValue(size, aHash, metrics.MakeWriteID(3, 7, 0).Next())
	for bit := range 8 * size {
		wrong := bytes.Clone(right)
		wrong[bit/8] ^= 1 << (bit % 8)
		if _, err := thorough(size).Check(wrong, aHash); err == nil {
			t.Errorf("bit %d of byte %d: not found in full comparison", bit%8, bit/8)
		}
		hasty := thorough(size)
		hasty.Every, hasty.Until = 16, 2 // the next is not compared
		compared, err := hasty.Check(wrong, aHash)
		if inHeader := bit/8 < HeaderLen; compared || (err != nil) != inHeader {
			t.Errorf("bit %d of byte %d, not compared in full: compared %v, error %v", bit%8, bit/8, compared, err)
		}
	}
}

func TestValueErrors(t *testing.T) {
	const size = 64
	w := metrics.MakeWriteID(3, 7, 0).Next()
	change := func(at int) []byte {
		value := madeValue(size, aHash, w)
		value[at] ^= 1
		return value
	}
	tests := []struct {
		name  string
		value []byte
		want  string
	}{
		{"of another key", madeValue(size, aHash+1, w), "the value of another key: key hash 0123456789abcdf0, want 0123456789abcdef"},
		{"by a client who does not exist", madeValue(size, aHash, metrics.MakeWriteID(4, 0, 0)), "written by worker 0 of client 4, which does not exist"},
		{"by a worker who does not exist", madeValue(size, aHash, metrics.MakeWriteID(0, 8, 0)), "written by worker 8 of client 0, which does not exist"},
		{"empty", nil, "an empty value, want 64 bytes"},
		{"cut off", madeValue(size, aHash, w)[:size-1], "a value of 63 bytes, want 64"},
		{"of a run with longer values", madeValue(size+1, aHash, w), "a value of 65 bytes, want 64"},
		{"of a run with longer values, cut off", madeValue(size+1, aHash, w)[:size], "check bytes"},
		{"with a wrong version", change(8), "check bytes"},
		{"with a wrong body", change(40), "at offset 40, want"},
		{"of zeros", make([]byte, size), "another key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := thorough(size).Check(test.value, aHash); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// The first value is compared in full, and then one in N on average, at
// distances that differ by chance.
func TestCheckerShare(t *testing.T) {
	const values = 16_000
	value := madeValue(64, aHash, metrics.MakeWriteID(0, 0, 0))
	for _, every := range []int{1, 2, 16} {
		c := thorough(64)
		c.Every = every
		c.random.Seed(7)
		last, full, distances := -1, 0, map[int]bool{}
		for i := range values {
			compared, err := c.Check(value, aHash)
			if err != nil || i == 0 && !compared {
				t.Fatalf("every %d, value %d: compared %v, error %v", every, i, compared, err)
			}
			if compared {
				if i > 0 {
					distances[i-last] = true
				}
				last, full = i, full+1
			}
		}
		if want := values / every; full < want*9/10 || full > want*11/10 || len(distances) != 2*every-1 {
			t.Errorf("every %d: %d of %d compared, at %d distances; want %d at %d", every, full, values, len(distances), want, 2*every-1)
		}
	}
}

func TestValuesCannotBeCompressed(t *testing.T) {
	var values bytes.Buffer
	w := metrics.MakeWriteID(0, 0, 0)
	for i := range uint64(1000) {
		w = w.Next()
		values.Write(madeValue(1024, route.Hash([]byte{byte(i), byte(i >> 8)}), w)[16:]) // check bytes and body
	}
	size := values.Len()
	var packed bytes.Buffer
	packer, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(packer, &values); err != nil {
		t.Fatal(err)
	}
	if err := packer.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() < size {
		t.Errorf("%d bytes of values pack into %d", size, packed.Len())
	}
}

func BenchmarkPutValue(b *testing.B) {
	value := make([]byte, 128)
	for b.Loop() {
		Fixed.Put(value, aHash, 1)
	}
}

func BenchmarkCheckValue(b *testing.B) {
	for name, every := range map[string]int{"verify=full": 1, "verify=16": 16} {
		b.Run(name, func(b *testing.B) {
			c, value := thorough(128), madeValue(128, aHash, 1)
			c.Every = every
			for b.Loop() {
				if _, err := c.Check(value, aHash); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// One value in 16 is compared in full, and not always the 16th.
func TestComparedShare(t *testing.T) {
	c := thorough(128)
	c.Every = 16
	value := make([]byte, 128)
	Fixed.Put(value, 7, metrics.MakeWriteID(1, 2, 0).Next())
	const values = 160_000
	compared, last, gaps := 0, 0, map[int]bool{}
	for i := range values {
		did, err := c.Check(value, 7)
		if err != nil {
			t.Fatal(err)
		}
		if did {
			gaps[i-last] = true
			compared, last = compared+1, i
		}
	}
	if compared < values/18 || compared > values/14 || len(gaps) < 31 {
		t.Errorf("%d of %d values were compared, with %d different gaps; want one in 16, and 31 gaps", compared, values, len(gaps))
	}
}
