package routers_test

import (
	"math"
	"strconv"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs/route"
	"kvlab/kvs/route/routetest"
)

// The buckets of these keys are those of other implementations of jump consistent hashing,
// such as github.com/dgryski/go-jump.
func TestJump(t *testing.T) {
	for _, test := range []struct {
		hash          uint64
		servers, want int
	}{{1, 1, 0}, {42, 57, 43}, {0xDEAD10CC, 1, 0}, {0xDEAD10CC, 666, 361}, {256, 1024, 520}} {
		if got := routetest.New(t, "jump", test.servers).Server(nil, test.hash); got != test.want {
			t.Errorf("hash %#x of %d servers goes to %d, want %d", test.hash, test.servers, got, test.want)
		}
	}
}

// When a server joins n others, a share of 1/(n+1) of the keys moves, at most 1.1/n, and
// each of them to the new server. Of fnv, the closed form is n/(n+1): a key stays if its
// hash is less than n modulo n(n+1).
func TestMovedKeys(t *testing.T) {
	const keys = 200_000
	for _, test := range []struct {
		router string
		moved  func(n float64) float64
		arcs   float64 // whose sum a share is; its length varies
	}{
		{"jump", func(n float64) float64 { return 1 / (n + 1) }, math.Inf(1)},
		{"ring", func(n float64) float64 { return 1 / (n + 1) }, 1024},
		{"fnv", func(n float64) float64 { return n / (n + 1) }, math.Inf(1)},
	} {
		consistent := test.router != "fnv"
		for n := 1; n <= 16; n++ {
			before, after := routetest.New(t, test.router, n), routetest.New(t, test.router, n+1)
			moved := 0
			var key []byte
			for id := range keys {
				key = strconv.AppendInt(key[:0], int64(id), 10)
				hash := route.Hash(key)
				from, to := before.Server(key, hash), after.Server(key, hash)
				if from == to {
					continue
				}
				if moved++; consistent && to != n {
					t.Fatalf("%s: with server %d a key moves from server %d to %d", test.router, n, from, to)
				}
			}
			share, want := float64(moved)/keys, test.moved(float64(n))
			if d := math.Sqrt(want*(1-want)/keys + want*want/test.arcs); math.Abs(share-want) > 5*d || consistent && share > 1.1/float64(n) {
				t.Errorf("%s: with server %d a share of %.4f of the keys moves, want %.4f and at most %.4f", test.router, n, share, want, 1.1/float64(n))
			}
		}
	}
}

// A key's server on the ring is that of the nearest of all points, wherever the key is.
func TestRing(t *testing.T) {
	random := kvstest.NewRandom(t)
	hashes := []uint64{0, math.MaxUint64}
	for range 100 {
		hashes = append(hashes, random.Uint64())
	}
	for _, n := range []int{1, 2, 3, 7, 20, 1024} {
		r := routetest.New(t, "ring", n)
		for _, hash := range hashes {
			place, nearest, want := hash*2862933555777941757, uint64(math.MaxUint64), 0
			for i := range uint64(n) * 1024 {
				if d := route.Thin(i) - place; d < nearest {
					nearest, want = d, int(i/1024)
				}
			}
			if got := r.Server(nil, hash); got != want {
				t.Fatalf("hash %#x of %d servers goes to %d, want %d", hash, n, got, want)
			}
		}
	}
}
