package route_test

import (
	"hash/fnv"
	"math"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/route"
)

func newRouter(t *testing.T, name string, servers int) route.Router {
	t.Helper()
	r, err := route.New(name, servers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestKeyHash(t *testing.T) {
	random := kvstest.NewRandom(t)
	for n := range kvs.MaxKeyLen + 1 {
		key := kvstest.RandomBytes(random, n)
		h := fnv.New64a()
		h.Write(key)
		if got, want := route.Hash(key), h.Sum64(); got != want {
			t.Fatalf("Hash(%x) = %016x, hash/fnv says %016x", key, got, want)
		}
	}
}

// slowSeed is the seed's formula in numbers without limits.
func slowSeed(key []byte, n int64) int {
	hash, base, modulus := new(big.Int), big.NewInt(13), big.NewInt(n)
	for _, c := range key {
		hash.Mul(hash, base).Add(hash, big.NewInt(int64(c))).Mod(hash, modulus)
	}
	return int(hash.Int64())
}

// low64 is what 64 bits hold of a number.
var low64 = new(big.Int).SetUint64(math.MaxUint64)

// slowXor is the hash of shifts and exclusive ors, in numbers without limits.
func slowXor(key []byte, n int64) int {
	hash := new(big.Int)
	for _, c := range key {
		term := new(big.Int).Lsh(hash, 5)
		term.Add(term, new(big.Int).Rsh(hash, 2)).Add(term, big.NewInt(int64(c)))
		hash.Xor(hash, term).And(hash, low64)
	}
	return int(hash.Mod(hash, big.NewInt(n)).Int64())
}

// slowMultiplicative is n times the fractional part of the hash times the golden section,
// which is rounded to 64 bits.
func slowMultiplicative(hash uint64, n int64) int {
	product := new(big.Int).SetUint64(0x9e3779b97f4a7c15)
	product.Mul(product, new(big.Int).SetUint64(hash)).And(product, low64)
	return int(product.Mul(product, big.NewInt(n)).Rsh(product, 64).Int64())
}

func TestRoutersAgreeWithTheirFormulas(t *testing.T) {
	random := kvstest.NewRandom(t)
	for range 500 {
		key := kvstest.RandomBytes(random, 1+random.IntN(kvs.MaxKeyLen))
		n := 1 + random.IntN(100)
		hash := route.Hash(key)
		h := fnv.New64a()
		h.Write(key)
		if got, want := newRouter(t, "fnv", n).Server(key, hash), int(h.Sum64()%uint64(n)); got != want {
			t.Fatalf("fnv, %d servers: key %x goes to %d, want %d", n, key, got, want)
		}
		for name, want := range map[string]int{"seed": slowSeed(key, int64(n)), "xor": slowXor(key, int64(n)), "multiplicative": slowMultiplicative(hash, int64(n))} {
			if got := newRouter(t, name, n).Server(key, hash); got != want {
				t.Fatalf("%s, %d servers: key %x goes to %d, want %d", name, n, key, got, want)
			}
		}
	}
}

// Many keys at once go where each goes alone.
func TestOwnersAreServers(t *testing.T) {
	random := kvstest.NewRandom(t)
	hashes := []uint64{0, 1, 1<<63 - 1, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}
	for range 1000 {
		hashes = append(hashes, random.Uint64())
	}
	step := 5 // of the numbers of servers; 256 is among them
	if os.Getenv("KVLAB_LONG") == "1" {
		step = 1
	}
	for _, name := range []string{"fnv", "balanced", "multiplicative"} {
		for n := 1; n <= 256; n += step {
			r := newRouter(t, name, n)
			edges := hashes
			for k := range uint64(3) { // about the largest multiple of n
				edges = append(edges, math.MaxUint64/uint64(n)*uint64(n)-1+k)
			}
			owners := make([]uint32, len(edges))
			r.(interface{ Owners([]uint32, []uint64) }).Owners(owners, edges)
			for i, hash := range edges {
				if want := r.Server(nil, hash); int(owners[i]) != want {
					t.Fatalf("%s, %d servers: hash %#x goes to %d with others, to %d alone", name, n, hash, owners[i], want)
				}
			}
		}
	}
}

// The owners of these keys are a promise: a client of any release finds what a
// client of another has stored.
func TestRouterGoldenVectors(t *testing.T) {
	counts := []int{1, 2, 3, 4, 8, 16}
	tests := []struct {
		router, key string
		owners      [6]int // for each of the counts
	}{
		{"fnv", "0", [6]int{0, 1, 2, 3, 7, 15}},
		{"fnv", "1", [6]int{0, 0, 1, 0, 4, 12}},
		{"fnv", "42", [6]int{0, 1, 1, 3, 3, 3}},
		{"fnv", "999999", [6]int{0, 1, 2, 3, 3, 11}},
		{"fnv", "user0", [6]int{0, 0, 0, 2, 6, 6}},
		{"fnv", "user6284781860667377211", [6]int{0, 0, 2, 2, 6, 6}},
		{"fnv", "\x00", [6]int{0, 1, 0, 3, 7, 15}},
		{"fnv", "\xff\x00\xff", [6]int{0, 1, 2, 3, 7, 15}},
		{"fnv", "a long key with spaces and an end", [6]int{0, 1, 0, 3, 7, 15}},
		{"seed", "0", [6]int{0, 0, 0, 0, 0, 0}},
		{"seed", "1", [6]int{0, 1, 1, 1, 1, 1}},
		{"seed", "42", [6]int{0, 0, 0, 2, 6, 6}},
		{"seed", "999999", [6]int{0, 0, 0, 2, 2, 10}},
		{"seed", "user0", [6]int{0, 1, 0, 3, 3, 11}},
		{"seed", "user6284781860667377211", [6]int{0, 1, 0, 1, 1, 9}},
		{"seed", "\x00", [6]int{0, 0, 0, 0, 0, 0}},
		{"seed", "\xff\x00\xff", [6]int{0, 0, 0, 2, 6, 6}},
		{"seed", "a long key with spaces and an end", [6]int{0, 0, 2, 2, 2, 10}},
		{"jump", "0", [6]int{0, 0, 0, 0, 6, 12}},
		{"jump", "1", [6]int{0, 1, 2, 2, 2, 2}},
		{"jump", "42", [6]int{0, 1, 1, 1, 4, 15}},
		{"jump", "999999", [6]int{0, 1, 2, 3, 3, 12}},
		{"jump", "user0", [6]int{0, 0, 0, 0, 7, 7}},
		{"jump", "user6284781860667377211", [6]int{0, 1, 1, 1, 1, 8}},
		{"jump", "\x00", [6]int{0, 0, 2, 3, 4, 4}},
		{"jump", "\xff\x00\xff", [6]int{0, 1, 1, 1, 7, 7}},
		{"jump", "a long key with spaces and an end", [6]int{0, 1, 1, 1, 5, 8}},
		{"ring", "0", [6]int{0, 0, 0, 0, 5, 5}},
		{"ring", "1", [6]int{0, 1, 1, 1, 6, 10}},
		{"ring", "42", [6]int{0, 0, 2, 2, 2, 2}},
		{"ring", "999999", [6]int{0, 1, 1, 3, 7, 7}},
		{"ring", "user0", [6]int{0, 1, 1, 1, 1, 1}},
		{"ring", "user6284781860667377211", [6]int{0, 0, 2, 2, 2, 2}},
		{"ring", "\x00", [6]int{0, 1, 1, 3, 5, 13}},
		{"ring", "\xff\x00\xff", [6]int{0, 0, 0, 3, 3, 3}},
		{"ring", "a long key with spaces and an end", [6]int{0, 1, 2, 2, 4, 12}},
		{"xor", "0", [6]int{0, 0, 0, 0, 0, 0}},
		{"xor", "1", [6]int{0, 1, 1, 1, 1, 1}},
		{"xor", "42", [6]int{0, 1, 1, 3, 3, 11}},
		{"xor", "999999", [6]int{0, 1, 2, 3, 3, 11}},
		{"xor", "user0", [6]int{0, 0, 1, 0, 4, 12}},
		{"xor", "user6284781860667377211", [6]int{0, 1, 2, 1, 5, 13}},
		{"xor", "\x00", [6]int{0, 0, 0, 0, 0, 0}},
		{"xor", "\xff\x00\xff", [6]int{0, 1, 2, 3, 7, 7}},
		{"xor", "a long key with spaces and an end", [6]int{0, 0, 1, 0, 0, 0}},
		{"multiplicative", "0", [6]int{0, 1, 2, 3, 7, 15}},
		{"multiplicative", "1", [6]int{0, 1, 2, 3, 6, 13}},
		{"multiplicative", "42", [6]int{0, 1, 2, 3, 7, 14}},
		{"multiplicative", "999999", [6]int{0, 1, 2, 3, 7, 14}},
		{"multiplicative", "user0", [6]int{0, 0, 1, 1, 2, 5}},
		{"multiplicative", "user6284781860667377211", [6]int{0, 1, 1, 2, 5, 10}},
		{"multiplicative", "\x00", [6]int{0, 0, 0, 0, 1, 2}},
		{"multiplicative", "\xff\x00\xff", [6]int{0, 0, 0, 1, 2, 4}},
		{"multiplicative", "a long key with spaces and an end", [6]int{0, 0, 1, 1, 3, 6}},
	}
	for _, test := range tests {
		for i, n := range counts {
			key := []byte(test.key)
			if got := newRouter(t, test.router, n).Server(key, route.Hash(key)); got != test.owners[i] {
				t.Errorf("%s: key %q of %d servers goes to %d, want %d", test.router, test.key, n, got, test.owners[i])
			}
		}
	}
}

// The keys of many records spread at least as evenly as a fair throw would: no
// share is further from the mean than 5 of its standard deviations. A server's part of the
// ring varies, too: it is a sum of 1024 arcs.
func TestRouterBalance(t *testing.T) {
	const records = 100_000
	for _, name := range route.Names {
		for _, n := range []int{2, 3, 4, 8, 16} {
			router, shares := newRouter(t, name, n), make([]int, n)
			var key []byte
			for id := range records {
				key = strconv.AppendInt(key[:0], int64(id), 10)
				shares[router.Server(key, route.Hash(key))]++
			}
			even := float64(records) / float64(n)
			variance := even
			if name == "ring" {
				variance += even * even / 1024
			}
			for server, share := range shares {
				if math.Abs(float64(share)-even) > 5*math.Sqrt(variance) {
					t.Errorf("%s: server %d of %d owns %d records, even is %.0f", name, server, n, share, even)
				}
			}
		}
	}
}

func TestNewRouterErrors(t *testing.T) {
	for _, test := range []struct {
		name    string
		servers int
		want    string
	}{
		{"fnv", 0, "-hosts"},
		{"seed", -1, "-hosts"},
		{"ring", 1025, "-router ring"},
		{"", 1, `-router ""`},
		{"FNV", 2, `-router "FNV"`},
	} {
		if r, err := route.New(test.name, test.servers, nil); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("New(%q, %d) = %v, %v; want an error that names %s", test.name, test.servers, r, err, test.want)
		}
	}
}
