package routers_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"kvlab/extra/variants/routers"
	"kvlab/kvs/route"
	"kvlab/kvs/route/routetest"
)

func init() { route.Link(routers.Rows) }

// low64 is what 64 bits hold of a number.
var low64 = new(big.Int).SetUint64(math.MaxUint64)

// slowXor returns the hash of shifts and exclusive ors, in numbers without limits.
func slowXor(key []byte, servers int) int {
	hash := new(big.Int)
	for _, c := range key {
		term := new(big.Int).Lsh(hash, 5)
		term.Add(term, new(big.Int).Rsh(hash, 2)).Add(term, big.NewInt(int64(c)))
		hash.Xor(hash, term).And(hash, low64)
	}
	return int(hash.Mod(hash, big.NewInt(int64(servers))).Int64())
}

// slowMultiplicative returns n times the fractional part of the hash times the golden section,
// which is rounded to 64 bits.
func slowMultiplicative(key []byte, servers int) int {
	product := new(big.Int).SetUint64(0x9e3779b97f4a7c15)
	product.Mul(product, new(big.Int).SetUint64(route.Hash(key))).And(product, low64)
	return int(product.Mul(product, big.NewInt(int64(servers))).Rsh(product, 64).Int64())
}

func TestRouters(t *testing.T) {
	routetest.Run(t, "jump", routetest.Oracle{
		Fingerprint: "920cbadc9b06717a",
		Golden: map[string][6]int{
			"0":                                 {0, 0, 0, 0, 6, 12},
			"1":                                 {0, 1, 2, 2, 2, 2},
			"42":                                {0, 1, 1, 1, 4, 15},
			"999999":                            {0, 1, 2, 3, 3, 12},
			"user0":                             {0, 0, 0, 0, 7, 7},
			"user6284781860667377211":           {0, 1, 1, 1, 1, 8},
			"\x00":                              {0, 0, 2, 3, 4, 4},
			"\xff\x00\xff":                      {0, 1, 1, 1, 7, 7},
			"a long key with spaces and an end": {0, 1, 1, 1, 5, 8},
		},
	})
	routetest.Run(t, "ring", routetest.Oracle{
		Arcs: 1024, Fingerprint: "fd9e6c4d6fee8215",
		Golden: map[string][6]int{
			"0":                                 {0, 0, 0, 0, 5, 5},
			"1":                                 {0, 1, 1, 1, 6, 10},
			"42":                                {0, 0, 2, 2, 2, 2},
			"999999":                            {0, 1, 1, 3, 7, 7},
			"user0":                             {0, 1, 1, 1, 1, 1},
			"user6284781860667377211":           {0, 0, 2, 2, 2, 2},
			"\x00":                              {0, 1, 1, 3, 5, 13},
			"\xff\x00\xff":                      {0, 0, 0, 3, 3, 3},
			"a long key with spaces and an end": {0, 1, 2, 2, 4, 12},
		},
	})
	routetest.Run(t, "xor", routetest.Oracle{
		Formula: slowXor, Fingerprint: "2d9558ba5de134e7",
		Golden: map[string][6]int{
			"0":                                 {0, 0, 0, 0, 0, 0},
			"1":                                 {0, 1, 1, 1, 1, 1},
			"42":                                {0, 1, 1, 3, 3, 11},
			"999999":                            {0, 1, 2, 3, 3, 11},
			"user0":                             {0, 0, 1, 0, 4, 12},
			"user6284781860667377211":           {0, 1, 2, 1, 5, 13},
			"\x00":                              {0, 0, 0, 0, 0, 0},
			"\xff\x00\xff":                      {0, 1, 2, 3, 7, 7},
			"a long key with spaces and an end": {0, 0, 1, 0, 0, 0},
		},
	})
	routetest.Run(t, "multiplicative", routetest.Oracle{
		Formula: slowMultiplicative, Fingerprint: "68dbeec1daf60ab8",
		Golden: map[string][6]int{
			"0":                                 {0, 1, 2, 3, 7, 15},
			"1":                                 {0, 1, 2, 3, 6, 13},
			"42":                                {0, 1, 2, 3, 7, 14},
			"999999":                            {0, 1, 2, 3, 7, 14},
			"user0":                             {0, 0, 1, 1, 2, 5},
			"user6284781860667377211":           {0, 1, 1, 2, 5, 10},
			"\x00":                              {0, 0, 0, 0, 1, 2},
			"\xff\x00\xff":                      {0, 0, 0, 1, 2, 4},
			"a long key with spaces and an end": {0, 0, 1, 1, 3, 6},
		},
	})
}

func TestRingTakesNoMoreServers(t *testing.T) {
	if r, err := route.New("ring", 1025, nil); err == nil || !strings.HasPrefix(err.Error(), "-router ring: 1025 servers") {
		t.Errorf("New = %v, %v", r, err)
	}
}

func BenchmarkRouter(b *testing.B) {
	var names []string
	for _, row := range routers.Rows {
		names = append(names, row.Name)
	}
	routetest.Bench(b, names, 1<<16, nil)
}
