package route_test

import (
	"hash/fnv"
	"math/big"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/route/routetest"
)

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

// slowSeed returns the seed's formula in numbers without limits.
func slowSeed(key []byte, servers int) int {
	hash, base, modulus := new(big.Int), big.NewInt(13), big.NewInt(int64(servers))
	for _, c := range key {
		hash.Mul(hash, base).Add(hash, big.NewInt(int64(c))).Mod(hash, modulus)
	}
	return int(hash.Int64())
}

func TestRouters(t *testing.T) {
	routetest.Run(t, "fnv", routetest.Oracle{
		Formula: func(key []byte, servers int) int {
			h := fnv.New64a()
			h.Write(key)
			return int(h.Sum64() % uint64(servers))
		},
		Fingerprint: "c282bda31a877657",
		Golden: map[string][6]int{
			"0":                                 {0, 1, 2, 3, 7, 15},
			"1":                                 {0, 0, 1, 0, 4, 12},
			"42":                                {0, 1, 1, 3, 3, 3},
			"999999":                            {0, 1, 2, 3, 3, 11},
			"user0":                             {0, 0, 0, 2, 6, 6},
			"user6284781860667377211":           {0, 0, 2, 2, 6, 6},
			"\x00":                              {0, 1, 0, 3, 7, 15},
			"\xff\x00\xff":                      {0, 1, 2, 3, 7, 15},
			"a long key with spaces and an end": {0, 1, 0, 3, 7, 15},
		},
	})
	routetest.Run(t, "seed", routetest.Oracle{
		Formula:     slowSeed,
		Fingerprint: "653d03737a8940d9",
		Golden: map[string][6]int{
			"0":                                 {0, 0, 0, 0, 0, 0},
			"1":                                 {0, 1, 1, 1, 1, 1},
			"42":                                {0, 0, 0, 2, 6, 6},
			"999999":                            {0, 0, 0, 2, 2, 10},
			"user0":                             {0, 1, 0, 3, 3, 11},
			"user6284781860667377211":           {0, 1, 0, 1, 1, 9},
			"\x00":                              {0, 0, 0, 0, 0, 0},
			"\xff\x00\xff":                      {0, 0, 0, 2, 6, 6},
			"a long key with spaces and an end": {0, 0, 2, 2, 2, 10},
		},
	})
	routetest.Run(t, "balanced", routetest.Oracle{Fingerprint: "d82387d1ba92e879"})
	routetest.Run(t, route.Slots, routetest.Oracle{Fingerprint: "800d0ac1414d9063"})
}

func TestNewRouterErrors(t *testing.T) {
	for _, test := range []struct {
		name    string
		servers int
		want    string
	}{
		{"fnv", 0, "-hosts"},
		{"seed", -1, "-hosts"},
		{"", 1, `-router ""`},
		{"FNV", 2, `-router "FNV"`},
	} {
		if r, err := route.New(test.name, test.servers, nil); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("New(%q, %d) = %v, %v; want an error that names %s", test.name, test.servers, r, err, test.want)
		}
	}
}
