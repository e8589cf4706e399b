// Package routetest is the suite that every router passes.
package routetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/route"
)

// Oracle is what a test knows of a router by other means.
type Oracle struct {
	// Formula is the router's formula in numbers without limits; nil where there is none.
	Formula func(key []byte, servers int) int

	// Golden are the owners of keys among 1, 2, 3, 4, 8 and 16 servers. They are a promise: a
	// client of any release finds what a client of another has stored.
	Golden map[string][6]int

	// Fingerprint is the route.Fingerprint for 4 servers, the same promise.
	Fingerprint string

	// Arcs is the number of random arcs whose sum a server's share is; 0 where each key is
	// thrown alone.
	Arcs float64
}

// New returns a router by its name.
func New(t testing.TB, name string, servers int) route.Router {
	t.Helper()
	r, err := route.New(name, servers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Run tests the router of a name.
func Run(t *testing.T, name string, o Oracle) {
	if o.Formula != nil {
		t.Run("formula", func(t *testing.T) { formula(t, name, o) })
	}
	t.Run("golden", func(t *testing.T) { golden(t, name, o) })
	t.Run("balance", func(t *testing.T) { balance(t, name, o) })
	if _, ok := New(t, name, 1).(owner); ok {
		t.Run("owners", func(t *testing.T) { owners(t, name) })
	}
}

// owner is a router that takes many keys at once.
type owner interface {
	Owners(owners []uint32, hashes []uint64)
}

func formula(t *testing.T, name string, o Oracle) {
	random := kvstest.NewRandom(t)
	for range 500 {
		key := kvstest.RandomBytes(random, 1+random.IntN(kvs.MaxKeyLen))
		n := 1 + random.IntN(100)
		if got, want := New(t, name, n).Server(key, route.Hash(key)), o.Formula(key, n); got != want {
			t.Fatalf("%d servers: key %x goes to %d, want %d", n, key, got, want)
		}
	}
}

func golden(t *testing.T, name string, o Oracle) {
	for i, n := range [...]int{1, 2, 3, 4, 8, 16} {
		r := New(t, name, n)
		for key, owners := range o.Golden {
			if got := r.Server([]byte(key), route.Hash([]byte(key))); got != owners[i] {
				t.Errorf("key %q of %d servers goes to %d, want %d", key, n, got, owners[i])
			}
		}
	}
	if got := route.Fingerprint(New(t, name, 4)); got != o.Fingerprint {
		t.Errorf("fingerprint of 4 servers %s, want %s", got, o.Fingerprint)
	}
}

// balance checks that the keys of many records spread at least as evenly as a fair throw
// would: no share is further from the mean than 5 of its standard deviations.
func balance(t *testing.T, name string, o Oracle) {
	const records = 100_000
	for _, n := range []int{2, 3, 4, 8, 16} {
		router, shares := New(t, name, n), make([]int, n)
		var key []byte
		for id := range records {
			key = strconv.AppendInt(key[:0], int64(id), 10)
			shares[router.Server(key, route.Hash(key))]++
		}
		even := float64(records) / float64(n)
		variance := even
		if o.Arcs > 0 {
			variance += even * even / o.Arcs
		}
		for server, share := range shares {
			if math.Abs(float64(share)-even) > 5*math.Sqrt(variance) {
				t.Errorf("server %d of %d owns %d records, even is %.0f", server, n, share, even)
			}
		}
	}
}

// owners checks that many keys at once go where each goes alone.
func owners(t *testing.T, name string) {
	random := kvstest.NewRandom(t)
	hashes := []uint64{0, 1, 1<<63 - 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	for range 1000 {
		hashes = append(hashes, random.Uint64())
	}
	step := 5 // of the numbers of servers; 256 is among them
	if os.Getenv("KVLAB_LONG") == "1" {
		step = 1
	}
	for n := 1; n <= 256; n += step {
		r := New(t, name, n)
		edges := hashes
		for k := range uint64(3) { // about the largest multiple of n
			edges = append(edges, math.MaxUint64/uint64(n)*uint64(n)-1+k)
		}
		owners := make([]uint32, len(edges))
		r.(owner).Owners(owners, edges)
		for i, hash := range edges {
			if want := r.Server(nil, hash); int(owners[i]) != want {
				t.Fatalf("%d servers: hash %#x goes to %d with others, to %d alone", n, hash, owners[i], want)
			}
		}
	}
}

// Bench measures a key's way to its server, from its hash on, by each router. The keys are
// in the order in which a skewed workload draws them; their ids are below ids. A router may
// use known.
func Bench(b *testing.B, routers []string, ids int, known route.Popularity) {
	random := rand.New(rand.NewPCG(1, 2))
	keys, hashes := make([][]byte, ids), make([]uint64, ids)
	for i := range keys {
		id := int64(float64(ids) * random.Float64() * random.Float64() * random.Float64())
		keys[i] = strconv.AppendInt(nil, id, 10)
		hashes[i] = route.Hash(keys[i])
	}
	for _, name := range routers {
		for _, servers := range []int{4, 16} {
			b.Run(fmt.Sprintf("%s/servers=%d", name, servers), func(b *testing.B) {
				r, err := route.New(name, servers, known)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				sum, i := 0, 0
				for b.Loop() {
					sum += r.Server(keys[i], hashes[i])
					i = (i + 1) % ids
				}
				if sum == 0 {
					b.Error("server 0 owns every key")
				}
			})
		}
	}
}
