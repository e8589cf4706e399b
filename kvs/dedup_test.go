package kvs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestDedupReply writes the same random results into a plain reply and
// into a deduped one and reads both: the same results, in fewer bytes where
// values repeat.
func TestDedupReply(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, keys := range []int{1, 10, 1000, 100_000} {
		var plain, deduped, received Reply
		for range 3 { // memory is used again
			var values [][]byte
			plain.Reset()
			deduped.Reset()
			n := 5000
			deduped.Dedup(n)
			for range n {
				switch random.IntN(20) {
				case 0:
					plain.Stored()
					deduped.Stored()
				case 1:
					plain.Missing()
					deduped.Missing()
				default:
					value := valueOf(random.IntN(keys), random.IntN(2))
					values = append(values, value)
					plain.Found(value)
					deduped.Found(value)
				}
			}
			deduped.EndDedup()
			frame := deduped.Frame()[Headroom:]
			copy(received.Body(len(frame), deduped.Len(), true), frame)
			sameResults(t, &plain, &received)
			if keys <= 1000 && len(frame) > len(plain.Frame())*3/4 {
				t.Errorf("%d values of %d keys: %d bytes deduped, %d plain", len(values), keys, len(frame), len(plain.Frame()))
			}
		}
	}
}

// valueOf returns one version of a key's value; versions differ in one byte, which
// may be at either end or between, and in length.
func valueOf(key, version int) []byte {
	value := bytes.Repeat(fmt.Appendf(nil, "%08d", key), 2+key%17)
	value[(key*7)%len(value)] ^= byte(version)
	return value
}

func sameResults(t *testing.T, a, b *Reply) {
	t.Helper()
	x, y := a.Results(), b.Results()
	for i := range a.Len() {
		p, err1 := x.Next()
		q, err2 := y.Next()
		if err1 != nil || err2 != nil || p.Found != q.Found || p.Read != q.Read || !bytes.Equal(p.Value, q.Value) {
			t.Fatalf("result %d: plain %+v, %v; deduped %+v, %v", i, p, err1, q, err2)
		}
	}
	if err1, err2 := x.End(), y.End(); err1 != nil || err2 != nil {
		t.Fatalf("end: plain %v; deduped %v", err1, err2)
	}
}
