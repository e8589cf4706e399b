package kvs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestCoalescedReply writes the same random results into a plain reply and
// into a coalesced one and reads both: the same results, in fewer bytes where
// values repeat.
func TestCoalescedReply(t *testing.T) {
	const seed = 11
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, keys := range []int{1, 10, 1000, 100_000} {
		var plain, coalesced, received Reply
		for range 3 { // memory is used again
			var values [][]byte
			plain.Reset()
			coalesced.Reset()
			n := 5000
			coalesced.Coalesce(n)
			for range n {
				switch random.IntN(20) {
				case 0:
					plain.Stored()
					coalesced.Stored()
				case 1:
					plain.Missing()
					coalesced.Missing()
				default:
					value := valueOf(random.IntN(keys), random.IntN(2))
					values = append(values, value)
					plain.Found(value)
					coalesced.Found(value)
				}
			}
			coalesced.Settle()
			frame := coalesced.Frame()[Headroom:]
			copy(received.Body(len(frame), coalesced.Len(), true), frame)
			sameResults(t, &plain, &received)
			if keys <= 1000 && len(frame) > len(plain.Frame())*3/4 {
				t.Errorf("%d values of %d keys: %d bytes coalesced, %d plain", len(values), keys, len(frame), len(plain.Frame()))
			}
		}
	}
}

// valueOf is one version of a key's value; versions differ in one byte, which
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
			t.Fatalf("result %d: plain %+v, %v; coalesced %+v, %v", i, p, err1, q, err2)
		}
	}
	if err1, err2 := x.End(), y.End(); err1 != nil || err2 != nil {
		t.Fatalf("end: plain %v; coalesced %v", err1, err2)
	}
}

// TestCoalescedReplyRefusesReferences holds references against what a reply
// may hold: none into the future, none in a plain reply.
func TestCoalescedReplyRefusesReferences(t *testing.T) {
	for _, test := range []struct {
		name      string
		body      string
		n         int
		coalesced bool
	}{
		{"to the first of none", "\x03", 1, true},
		{"to the second of one", "\x04v\x05", 2, true},
		{"in a plain reply", "\x04v\x03", 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Reply
			copy(r.Body(len(test.body), test.n, test.coalesced), test.body)
			results := r.Results()
			var err error
			for range test.n {
				_, err = results.Next()
			}
			if err == nil {
				t.Fatal("the reference was followed")
			}
		})
	}
}
