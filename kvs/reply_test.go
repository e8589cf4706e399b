package kvs_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

func randomResults(random *rand.Rand, n int) []kvs.Result {
	results := make([]kvs.Result, n)
	for i := range results {
		switch random.IntN(4) {
		case 0: // stored
		case 1:
			results[i].Read = true
		default:
			size := random.IntN(300)
			if random.IntN(100) == 0 {
				size = random.IntN(kvs.MaxValueLen + 1)
			}
			results[i] = kvs.Result{Value: kvstest.RandomBytes(random, size), Found: true, Read: true}
		}
	}
	return results
}

func answer(r *kvs.Reply, results []kvs.Result) {
	for _, result := range results {
		switch {
		case result.Found:
			r.Found(result.Value)
		case result.Read:
			r.Missing()
		default:
			r.Stored()
		}
	}
}

func checkResults(t *testing.T, got, want []kvs.Result) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d", len(got), len(want))
	}
	for i := range want {
		if got[i].Found != want[i].Found || got[i].Read != want[i].Read || !bytes.Equal(got[i].Value, want[i].Value) {
			t.Fatalf("result %d: found %v read %v %.20q, want found %v read %v %.20q", i,
				got[i].Found, got[i].Read, got[i].Value, want[i].Found, want[i].Read, want[i].Value)
		}
	}
}

func receivedReply(body []byte, n int, deduped bool) *kvs.Reply {
	var r kvs.Reply
	copy(r.Body(len(body), n, deduped), body)
	return &r
}

func TestReplyRoundTrip(t *testing.T) {
	random := kvstest.NewRandom(t)
	var sent, got kvs.Reply // used again and again, and freed in between
	for _, n := range []int{0, 1, 2, 1000, 256, 3} {
		results := randomResults(random, n)
		sent.Reset()
		answer(&sent, results)
		body := sent.Frame()[kvs.Headroom:]
		copy(got.Body(len(body), sent.Len(), false), body)
		for _, r := range []*kvs.Reply{&sent, &got} {
			back, err := kvstest.DecodeReply(r)
			if err != nil || r.Len() != n {
				t.Fatalf("%d results: Len %d, error %v", n, r.Len(), err)
			}
			checkResults(t, back, results)
		}
		if n%2 == 0 {
			got.Free()
		} else {
			sent.Free()
		}
	}
}

func TestZeroReply(t *testing.T) {
	var r kvs.Reply
	for _, state := range []string{"zero", "freed", "freed twice"} {
		if back, err := kvstest.DecodeReply(&r); err != nil || len(back) != 0 {
			t.Errorf("%s reply: %d results, error %v", state, len(back), err)
		}
		if len(r.Frame()) != kvs.Headroom {
			t.Errorf("%s reply: a frame of %d bytes, want the headroom of %d", state, len(r.Frame()), kvs.Headroom)
		}
		r.Free()
	}
}

func TestMalformedReply(t *testing.T) {
	found := func(n uint64, value ...byte) []byte { return append(binary.AppendUvarint(nil, 2+2*n), value...) }
	again := func(i uint64) []byte { return binary.AppendUvarint(nil, 3+2*i) }
	tests := []struct {
		name string
		body []byte
		n    int
	}{
		{"nothing where one is due", nil, 1},
		{"length breaks off", []byte{0x82}, 1},
		{"length beyond 64 bits", bytes.Repeat([]byte{0xff}, 11), 1},
		{"largest length", binary.AppendUvarint(nil, 1<<64-2), 1},
		{"value breaks off", found(3, 'v', 'v'), 1},
		{"long value breaks off", found(300, make([]byte, 299)...), 1},
		{"bytes behind the last result", []byte{1, 1}, 1},
		{"count too high", []byte{1, 0}, 3},
		{"bytes in an empty reply", []byte{0}, 0},
		{"reference to the first of none", again(0), 1},
		{"reference to itself", append(found(1, 'v'), again(1)...), 2},
		{"largest reference", append(found(1, 'v'), again(1<<63-2)...), 2},
		{"reference breaks off", append(found(1, 'v'), 0x83), 2},
	}
	for _, test := range tests {
		for _, deduped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deduped %t", test.name, deduped), func(t *testing.T) {
				results, err := kvstest.DecodeReply(receivedReply(test.body, test.n, deduped))
				if !errors.Is(err, kvs.ErrMalformed) {
					t.Errorf("%d results, error %v; want one that wraps ErrMalformed", len(results), err)
				}
			})
		}
	}
}

func TestTruncatedReply(t *testing.T) {
	results := []kvs.Result{{Value: []byte("v"), Found: true, Read: true}, {}, {Read: true},
		{Value: bytes.Repeat([]byte("w"), 200), Found: true, Read: true}}
	var r kvs.Reply
	r.Reset()
	answer(&r, results)
	body := r.Frame()[kvs.Headroom:]
	for cut := range body {
		got, err := kvstest.DecodeReply(receivedReply(body[:cut], len(results), cut%2 == 0))
		if !errors.Is(err, kvs.ErrMalformed) {
			t.Fatalf("cut to %d of %d bytes: error %v", cut, len(body), err)
		}
		checkResults(t, got, results[:len(got)])
	}
}

// A caller that asks for more results than the batch had operations, or fewer,
// is told so.
func TestResultsEnd(t *testing.T) {
	var r kvs.Reply
	r.Reset()
	r.Stored()
	r.Missing()
	cursor := r.Results()
	for want := 2; want > 0; want-- {
		if err := cursor.End(); !errors.Is(err, kvs.ErrMalformed) {
			t.Errorf("End with %d results left: %v", want, err)
		}
		if _, err := cursor.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cursor.End(); err != nil {
		t.Errorf("End after the last result: %v", err)
	}
	if _, err := cursor.Next(); !errors.Is(err, kvs.ErrMalformed) {
		t.Errorf("Next after the last result: %v", err)
	}
}

// Replies that are filled and freed by many goroutines never share memory.
func TestFreedMemoryHasOneOwner(t *testing.T) {
	var group sync.WaitGroup
	for id := range 8 {
		group.Go(func() {
			value := bytes.Repeat([]byte{byte(id)}, 2000)
			for range 200 {
				var r kvs.Reply
				r.Reset()
				for range 5 {
					r.Found(value)
				}
				results, err := kvstest.DecodeReply(&r)
				for _, result := range results {
					if !bytes.Equal(result.Value, value) {
						t.Errorf("goroutine %d reads the value of %d", id, result.Value[0])
					}
				}
				if err != nil {
					t.Error(err)
				}
				r.Free()
			}
		})
	}
	group.Wait()
}

// FuzzResults: no body makes the decoder panic, and what it accepts survives a
// round trip.
func FuzzResults(f *testing.F) {
	random := kvstest.NewRandom(f)
	for n := range 4 {
		var r kvs.Reply
		r.Reset()
		answer(&r, randomResults(random, n))
		f.Add(r.Frame()[kvs.Headroom:], uint16(n), false)
	}
	f.Add([]byte{0x81, 0x00}, uint16(1), false)                  // a code in more bytes than it needs
	f.Add([]byte{4, 'a', 2, 3, 6, 'b', 'c', 7}, uint16(5), true) // references to two of three values
	f.Fuzz(func(t *testing.T, body []byte, n uint16, deduped bool) {
		results, err := kvstest.DecodeReply(receivedReply(body, int(n), deduped))
		if err != nil {
			if !errors.Is(err, kvs.ErrMalformed) {
				t.Fatalf("error %v does not wrap ErrMalformed", err)
			}
			return
		}
		var again kvs.Reply
		again.Reset()
		answer(&again, results)
		back, err := kvstest.DecodeReply(&again)
		if err != nil {
			t.Fatal(err)
		}
		checkResults(t, back, results)
	})
}
