package kvs_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
)

type pair struct{ key, value []byte }

func randomPairs(random *rand.Rand, n int) []pair {
	all := make([]pair, n)
	for i := range all {
		all[i] = pair{kvstest.RandomBytes(random, 1+random.IntN(kvs.MaxKeyLen)), kvstest.RandomBytes(random, random.IntN(300))}
	}
	return all
}

// scanned appends a scan's result.
func scanned(r *kvs.Reply, pairs []pair) {
	start := r.BeginPairs()
	for _, p := range pairs {
		r.Pair(p.key, p.value)
	}
	r.EndPairs(start)
}

func decodePairs(value []byte) (all []pair, err error) {
	for cursor := kvs.PairsOf(value); cursor.More(); {
		key, value, err := cursor.Next()
		if err != nil {
			return all, err
		}
		all = append(all, pair{key, value})
	}
	return all, nil
}

func checkPairs(t *testing.T, got, want []pair) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d pairs, want %d", len(got), len(want))
	}
	for i := range want {
		if !bytes.Equal(got[i].key, want[i].key) || !bytes.Equal(got[i].value, want[i].value) {
			t.Fatalf("pair %d: %.20q %.20q, want %.20q %.20q", i, got[i].key, got[i].value, want[i].key, want[i].value)
		}
	}
}

// Scans' results, from none to many pairs, stand between others, also in a reply that
// sends a repeated value once.
func TestPairsRoundTrip(t *testing.T) {
	random := kvstest.NewRandom(t)
	repeated := kvstest.RandomBytes(random, 100)
	for _, dedup := range []bool{false, true} {
		t.Run(fmt.Sprintf("dedup %t", dedup), func(t *testing.T) {
			var r kvs.Reply
			r.Reset()
			if dedup {
				r.Dedup(100)
			}
			var scans [][]pair
			for _, n := range []int{0, 1, 2, 100, 5000} {
				scans = append(scans, randomPairs(random, n))
				r.Found(repeated)
				scanned(&r, scans[len(scans)-1])
				r.Removed()
				r.Missing()
			}
			r.EndDedup()
			if r.Hits != 3*len(scans) || r.Misses != len(scans) {
				t.Errorf("%d hits and %d misses of %d finds, scans, deletes and misses each", r.Hits, r.Misses, len(scans))
			}
			body := r.Frame()[kvs.Headroom:]
			results, err := kvstest.DecodeReply(receivedReply(body, r.Len(), r.Deduped()))
			if err != nil || len(results) != 4*len(scans) {
				t.Fatalf("%d results, error %v", len(results), err)
			}
			for i, want := range scans {
				found, scan := results[4*i], results[4*i+1]
				if !bytes.Equal(found.Value, repeated) || !scan.Found {
					t.Fatalf("result %d is not the value that was found, or the next is not found", 4*i)
				}
				got, err := decodePairs(scan.Value)
				if err != nil {
					t.Fatal(err)
				}
				checkPairs(t, got, want)
			}
		})
	}
}

// A scan that reads more than a frame holds makes a reply with Excess, and no more memory.
func TestPairsInExcess(t *testing.T) {
	var r kvs.Reply
	r.Reset()
	start := r.BeginPairs()
	for range kvs.MaxBody/kvs.MaxValueLen + 2 {
		r.Pair([]byte("key"), make([]byte, kvs.MaxValueLen))
	}
	r.EndPairs(start)
	if !r.Excess || r.Size() > kvs.MaxBody+100 {
		t.Errorf("Excess %t with %d bytes", r.Excess, r.Size())
	}
}

func TestMalformedPairs(t *testing.T) {
	for name, value := range map[string][]byte{
		"empty key":                     {0, 0},
		"key breaks off":                {2, 'k'},
		"no value length":               {1, 'k'},
		"value length breaks off":       {1, 'k', 0x80},
		"value length beyond 64 bits":   append([]byte{1, 'k'}, bytes.Repeat([]byte{0xff}, 11)...),
		"value breaks off":              {1, 'k', 2, 'v'},
		"value longer than the limit":   append([]byte{1, 'k', 0x81, 0x80, 0x40}, make([]byte, kvs.MaxValueLen+1)...),
		"bytes after the last pair":     {1, 'k', 0, 1},
		"second pair breaks off at key": {1, 'k', 1, 'v', 9, 'k'},
	} {
		if pairs, err := decodePairs(value); !errors.Is(err, kvs.ErrMalformed) {
			t.Errorf("%s: %d pairs, error %v; want one that wraps ErrMalformed", name, len(pairs), err)
		}
	}
}

// FuzzPairs: no value makes the cursor panic, and what it accepts survives a round trip.
func FuzzPairs(f *testing.F) {
	random := kvstest.NewRandom(f)
	for n := range 4 {
		var r kvs.Reply
		r.Reset()
		scanned(&r, randomPairs(random, n))
		results, _ := kvstest.DecodeReply(&r)
		f.Add(results[0].Value)
	}
	f.Add([]byte{1, 'k', 0x80, 0x00}) // a length in more bytes than it needs
	f.Fuzz(func(t *testing.T, value []byte) {
		pairs, err := decodePairs(value)
		if err != nil {
			if !errors.Is(err, kvs.ErrMalformed) {
				t.Fatalf("error %v does not wrap ErrMalformed", err)
			}
			return
		}
		var r kvs.Reply
		r.Reset()
		scanned(&r, pairs)
		results, err := kvstest.DecodeReply(&r)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodePairs(results[0].Value)
		if err != nil {
			t.Fatal(err)
		}
		checkPairs(t, back, pairs)
	})
}
