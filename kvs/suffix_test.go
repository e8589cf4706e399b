package kvs_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

// TestGets appends runs of Gets, with writes between, and compares the batch
// with one that is made one operation at a time.
func TestGets(t *testing.T) {
	random := kvstest.NewRandom(t)
	for _, prefix := range []string{"", "u", "user", strings.Repeat("p", kvs.MaxKeyLen-8)} {
		var got, want kvs.Batch // zero batches, to begin with
		for range 100 {
			suffixes := make([]kvs.KeySuffix, random.IntN(50))
			kinds := make([]kvs.Kind, len(suffixes))
			for i := range suffixes {
				suffixes[i] = kvs.KeySuffix{Text: random.Uint64(), Len: uint8(1 + random.IntN(8))}
				kinds[i] = kvs.Kind(max(0, random.IntN(12)-9))
			}
			for i := 0; i < len(suffixes); i++ {
				n := got.AppendGets([]byte(prefix), suffixes[i:], kinds[i:])
				for range n {
					want.Get(keyOf(prefix, suffixes[i]))
					i++
				}
				if i == len(suffixes) {
					break
				}
				if kinds[i] == kvs.Get {
					t.Fatalf("Gets stopped at a get, %d before the end", len(suffixes)-i)
				}
				copy(got.ReserveSuffix(kinds[i], []byte(prefix), suffixes[i], len("value")), "value")
				want.Append(kinds[i], keyOf(prefix, suffixes[i]), []byte("value"))
			}
		}
		if got.Len() != want.Len() || !bytes.Equal(got.Frame()[kvs.Headroom:], want.Frame()[kvs.Headroom:]) {
			t.Errorf("prefix %.10q: %d operations in %d bytes are not the %d in %d bytes that were appended one by one",
				prefix, got.Len(), got.Size(), want.Len(), want.Size())
		}
	}
}

func keyOf(prefix string, e kvs.KeySuffix) []byte {
	return binary.LittleEndian.AppendUint64([]byte(prefix), e.Text)[:len(prefix)+int(e.Len)]
}

func TestSuffixesRefuseALongPrefix(t *testing.T) {
	prefix := make([]byte, kvs.MaxKeyLen-7)
	for name, add := range map[string]func(*kvs.Batch){
		"Gets":          func(b *kvs.Batch) { b.AppendGets(prefix, nil, nil) },
		"ReserveSuffix": func(b *kvs.Batch) { b.ReserveSuffix(kvs.Put, prefix, kvs.KeySuffix{}, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a key could have been longer than MaxKeyLen", name)
				}
			}()
			add(new(kvs.Batch))
		}()
	}
}
