package route_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs/route"
	"kvlab/kvs/route/routetest"
)

// popularity is a list of hashes and their shares.
type popularity struct{ hashes, shares []uint64 }

func (p popularity) known(yield func(hash, share uint64) bool) {
	for i, hash := range p.hashes {
		if !yield(hash, p.shares[i]) {
			return
		}
	}
}

// harmonic gives the ids from 0 to n-1, in decimal, shares that fall as 1/(id+1).
// They are whole numbers: no machine rounds them otherwise.
func harmonic(n int) popularity {
	var p popularity
	unit, sum := uint64(route.WholeShare>>16), uint64(0)
	for id := range n {
		sum += unit / uint64(id+1)
	}
	for id := range n {
		p.hashes = append(p.hashes, route.Hash(strconv.AppendInt(nil, int64(id), 10)))
		p.shares = append(p.shares, unit/uint64(id+1)*(route.WholeShare/sum))
	}
	return p
}

// loads returns the share of the operations that each server gets.
func (p popularity) loads(t *testing.T, servers int) []uint64 {
	t.Helper()
	r, err := route.New("balanced", servers, p.known)
	if err != nil {
		t.Fatal(err)
	}
	loads := make([]uint64, servers)
	for i, hash := range p.hashes {
		loads[r.Server(nil, hash)] += p.shares[i]
	}
	return loads
}

// Where a balanced router sends a key is a promise, for what it knows of the keys.
func TestBalancedGoldenVectors(t *testing.T) {
	for _, test := range []struct {
		servers int
		owners  string // of ids 0 to 15, in hexadecimal
		hash    uint64 // of the owners of ids 0 to 19999, half of which were not in the table
	}{
		{1, "0000000000000000", 0x4114ed7c89114da5},
		{2, "0111010101010101", 0x02607853289c3a81},
		{3, "0122121212120120", 0x4c807f9adfb3027a},
		{4, "0123323123213213", 0xbf0631fc2a6f3d86},
		{8, "0123456776547635", 0x5b3c5b0438a64bd7},
		{16, "0123456789abcdef", 0xc202bd8a8717d1e3},
	} {
		r, err := route.New("balanced", test.servers, harmonic(10_000).known)
		if err != nil {
			t.Fatal(err)
		}
		owners := make([]byte, 20_000)
		for id := range owners {
			key := strconv.AppendInt(nil, int64(id), 10)
			owners[id] = "0123456789abcdef"[r.Server(key, route.Hash(key))]
		}
		if got, hash := string(owners[:16]), route.Hash(owners); got != test.owners || hash != test.hash {
			t.Errorf("%d servers: ids 0 to 15 go to %s, all hash to %#016x; want %s and %#016x", test.servers, got, hash, test.owners, test.hash)
		}
	}
}

// When the keys are dealt out no server has more than the even share and one more
// slot, unless that is the most popular key alone.
func TestBalancedLoads(t *testing.T) {
	for _, keys := range []int{1000, 10_000, 100_000} {
		p := harmonic(keys)
		for _, n := range []int{1, 2, 3, 5, 8, 13, 16} {
			loads := p.loads(t, n)
			most, bound := slices.Max(loads), max(route.WholeShare/uint64(n), p.shares[0])
			t.Logf("%d keys, %d servers: %.4f of the least possible", keys, n, float64(most)/float64(bound))
			if most > bound+bound/200 {
				t.Errorf("%d keys, %d servers: one has %d, want %d and 0.5 %%", keys, n, most, bound)
			}
		}
	}
}

// The most popular keys never meet by chance: with as many servers as keys, each
// server has one.
func TestBalancedKeepsPopularKeysApart(t *testing.T) {
	random := kvstest.NewRandom(t)
	for range 50 {
		var p popularity
		for range 64 {
			p.hashes, p.shares = append(p.hashes, random.Uint64()), append(p.shares, route.WholeShare/64)
		}
		for server, load := range p.loads(t, 64) {
			if load != route.WholeShare/64 {
				t.Fatalf("server %d has %d of 64 keys, want 1", server, load/(route.WholeShare/64))
			}
		}
	}
}

// Two keys may share a hash: then they share an owner, and no search for a way to
// part them goes on for ever.
func TestBalancedEqualHashes(t *testing.T) {
	p := popularity{hashes: []uint64{7, 7, 8}, shares: []uint64{route.WholeShare / 3, route.WholeShare / 3, route.WholeShare / 3}}
	loads := p.loads(t, 2)
	if slices.Max(loads) != 2*(route.WholeShare/3) {
		t.Errorf("loads %v, want two thirds on one server", loads)
	}
}

// Keys without operations are spread by their number, and shares that sum to more
// than the whole do no harm.
func TestBalancedOddShares(t *testing.T) {
	random := kvstest.NewRandom(t)
	for _, test := range []struct {
		name  string
		share func(i int) uint64
	}{
		{"one key has all", func(i int) uint64 { return route.WholeShare * uint64(1-min(i, 1)) }},
		{"every key has all", func(int) uint64 { return route.WholeShare }},
		{"none has any", func(int) uint64 { return 0 }},
		{"more than fits", func(int) uint64 { return 1<<64 - 1 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var p popularity
			const keys = 100_000
			for i := range keys {
				p.hashes, p.shares = append(p.hashes, random.Uint64()), append(p.shares, test.share(i))
			}
			r, err := route.New("balanced", 4, p.known)
			if err != nil {
				t.Fatal(err)
			}
			var stored [4]int
			for _, hash := range p.hashes {
				stored[r.Server(nil, hash)]++
			}
			if slices.Max(stored[:]) > keys/4*11/10 {
				t.Errorf("servers store %v of %d keys, want a quarter each", stored, keys)
			}
		})
	}
}

func TestBalancedServerLimit(t *testing.T) {
	if _, err := route.New("balanced", 256, nil); err != nil {
		t.Error(err)
	}
	if _, err := route.New("balanced", 257, nil); err == nil || !strings.HasPrefix(err.Error(), "-router balanced") {
		t.Errorf("257 servers: error %v, want one that names -router balanced", err)
	}
}

func BenchmarkRouter(b *testing.B) {
	const ids = 1 << 16
	routetest.Bench(b, route.Names, ids, harmonic(ids).known)
}
