package loadgen

import (
	"fmt"
	"slices"
	"testing"

	"kvlab/kvs/route"
	"kvlab/workload"
)

// routed is a configuration with all its keys, the most popular first.
type routed struct {
	known  route.Popularity
	hashes []uint64
	masses []float64 // by the closed form, not by the segments that routers are told of
}

func newRouted(t *testing.T, change func(*Config)) routed {
	t.Helper()
	c := DefaultConfig()
	c.Workload.Records = 20_000
	change(&c)
	plan, err := workload.New(c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	var r routed
	var hashes, shares []uint64
	form := c.keys()
	for hash, share := range form.Popularity(plan.Popular()) {
		hashes, shares = append(hashes, hash), append(shares, share)
	}
	r.known = func(yield func(uint64, uint64) bool) {
		for i, hash := range hashes {
			if !yield(hash, shares[i]) {
				return
			}
		}
	}
	keys := newKeys(c.keys())
	for rank := range c.Workload.Records {
		_, hash := keys.key(plan.Key(rank))
		r.hashes = append(r.hashes, hash)
		r.masses = append(r.masses, plan.Mass(rank))
	}
	return r
}

// balance returns 1/(n * largest share) of the operations, and of the records,
// over every key.
func (r routed) balance(t *testing.T, router string, servers int) (ops, records float64) {
	t.Helper()
	by, err := route.New(router, servers, r.known)
	if err != nil {
		t.Fatal(err)
	}
	shares, counts := make([]float64, servers), make([]float64, servers)
	for i, hash := range r.hashes {
		at := by.Server(nil, hash)
		shares[at] += r.masses[i]
		counts[at]++
	}
	n := float64(servers)
	return 1 / (n * slices.Max(shares)), float64(len(r.hashes)) / (n * slices.Max(counts))
}

// bound returns the best balance that any router can have. Of the m*n+1 most popular
// keys one of n servers has m+1, and so at least m+1 times the share of the last
// of them; for m = 0 that is the share of the most popular key.
func (r routed) bound(servers int) float64 {
	least := 1 / float64(servers)
	for m := 0; m*servers < len(r.masses); m++ {
		least = max(least, float64(m+1)*r.masses[m*servers])
	}
	return 1 / (float64(servers) * least)
}

// TestBalance measures over every key how evenly a router spreads the operations:
// 0.99 or more of the best that any router can do, which is even unless some keys
// are too popular, and never less than 0.99 of what fnv does.
func TestBalance(t *testing.T) {
	type test struct {
		name   string
		change func(*Config)
	}
	zipfian := func(law string, theta float64, records uint64) test {
		return test{fmt.Sprintf("zipfian/law=%s/theta=%v/records=%d", law, theta, records), func(c *Config) {
			c.Workload.Zipfian, c.Workload.Theta, c.Workload.Records = law, theta, records
		}}
	}
	tests := []test{
		zipfian(workload.ZipfianYCSB, 0.99, 200_000),
		zipfian(workload.ZipfianYCSB, 0.99, 1000),
		{"uniform", func(c *Config) { c.Workload.Distribution, c.Workload.Records = workload.Uniform, 100_000 }},
		{"sequential", func(c *Config) { c.Workload.Distribution = workload.Sequential }},
		{"latest", func(c *Config) { c.Workload.Distribution = workload.Latest }},
		{"scrambled", func(c *Config) { c.Workload.Scramble = true }},
		{"hashed to records", func(c *Config) { c.Workload.Distribution = workload.Scrambled }},
		{"scrambled latest", func(c *Config) { c.Workload.Distribution, c.Workload.Scramble = workload.Latest, true }},
		{"key prefix", func(c *Config) { c.KeyPrefix = "user" }},
		{"hotspot", func(c *Config) { c.Workload.Distribution = workload.Hotspot }},
		{"hotspot of 100 records", func(c *Config) {
			c.Workload.Distribution, c.Workload.HotKeys, c.Workload.HotOps = workload.Hotspot, 0.005, 0.99
		}},
		{"hotspot of all operations", func(c *Config) { c.Workload.Distribution, c.Workload.HotOps = workload.Hotspot, 1 }},
	}
	for _, law := range []string{workload.ZipfianYCSB, workload.ZipfianExact} {
		for _, theta := range []float64{0.5, 0.8, 0.99, 1.2, 3} {
			tests = append(tests, zipfian(law, theta, 20_000))
		}
	}
	step := 7 // of the numbers of servers: 2, 9 and 16
	if long() {
		step = 1
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRouted(t, test.change)
			for n := 2; n <= 16; n += step {
				r.testBalance(t, n, 0.99)
			}
		})
	}
}

func (r routed) testBalance(t *testing.T, servers int, near float64) {
	t.Helper()
	best := r.bound(servers)
	before, _ := r.balance(t, "fnv", servers)
	got, records := r.balance(t, "balanced", servers)
	t.Logf("%3d servers: at best %.3f, fnv %.3f, balanced %.4f (of the records %.2f)", servers, best, before, got, records)
	if want := near * max(best, before); got < want {
		t.Errorf("%d servers: balance %.4f, want at least %.4f", servers, got, want)
	}
	if records < 0.3 {
		t.Errorf("%d servers: one stores %.1f times its share of the records", servers, 1/records)
	}
}

// Routers know a limited number of records, here half of them.
func TestBalanceOfUnknownRecords(t *testing.T) {
	r := newRouted(t, func(c *Config) {
		c.Workload.Distribution, c.Workload.Records = workload.Uniform, 2*workload.KnownRanks
	})
	r.testBalance(t, 16, 0.99)
}

// Many servers have few slots each.
func TestBalanceOfManyServers(t *testing.T) {
	for _, theta := range []float64{0.5, 0.8, 0.99, 1.2} {
		r := newRouted(t, func(c *Config) { c.Workload.Theta = theta })
		for _, n := range []int{32, 100, 256} {
			r.testBalance(t, n, 0.97)
		}
	}
}

// For any ids of the popular records, no two of these share a slot.
func TestBalanceWithAnySeed(t *testing.T) {
	seeds := uint64(5)
	if long() {
		seeds = 20
	}
	for seed := range seeds {
		r := newRouted(t, func(c *Config) {
			c.Workload.Records, c.Workload.Scramble, c.Workload.Seed = 30_000, true, seed
		})
		for _, n := range []int{4, 11, 16} {
			if got, best := first(r.balance(t, "balanced", n)), r.bound(n); got < 0.98*best {
				t.Errorf("seed %d, %d servers: balance %.4f, want at least 0.98 of %.4f", seed, n, got, best)
			}
		}
	}
}

func first(x, _ float64) float64 { return x }

// A balanced router's owners do not change between releases: these are the owners of
// records 0 to 9, and a hash of those of 0 to 9999. There are 100,000 records unless a row
// has another number.
func TestBalancedGoldenVectors(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(*Config)
		servers int
		owners  string // of ids 0 to 9, in hexadecimal
		hash    uint64
	}{
		{"default", func(*Config) {}, 2, "0111010100", 0xf47905817bc74466},
		{"default", func(*Config) {}, 3, "0122121211", 0xa480cf600dee2bfa},
		{"default", func(*Config) {}, 4, "0123321323", 0x8914c5fbbdf791bc},
		{"a million", func(c *Config) { c.Workload.Records = 1_000_000 }, 4, "0123321323", 0xf322ccf4586e68f5},
		{"default", func(*Config) {}, 8, "0123456776", 0xba31a882b7effec4},
		{"default", func(*Config) {}, 16, "0123456789", 0xbb6db007162cfff0},
		{"exact 1.2", func(c *Config) { c.Workload.Zipfian, c.Workload.Theta = workload.ZipfianExact, 1.2 }, 4, "0123323231", 0x3a884fd704735d59},
		{"uniform", func(c *Config) { c.Workload.Distribution = workload.Uniform }, 4, "1031020311", 0xc0050bdc33b8f9ae},
		{"latest", func(c *Config) { c.Workload.Distribution = workload.Latest }, 4, "1331102101", 0xc932ddc1f0c5b651},
		{"hotspot", func(c *Config) { c.Workload.Distribution = workload.Hotspot }, 4, "0201011331", 0x734ee4e51800ff46},
		{"scrambled", func(c *Config) { c.Workload.Scramble = true }, 4, "0233132102", 0xc469f4ec01abf054},
		{"key prefix", func(c *Config) { c.KeyPrefix = "user" }, 4, "0123321323", 0x8d20cd46e726131c},
		{"50 million", func(c *Config) { c.Workload.Records = 50_000_000 }, 4, "0123321323", 0x78ac3787366a0313},
	} {
		t.Run(fmt.Sprintf("%s/servers=%d", test.name, test.servers), func(t *testing.T) {
			c := DefaultConfig()
			c.Workload.Records = 100_000
			test.change(&c)
			c.Router, c.Hosts = "balanced", make([]string, test.servers)
			plan, err := workload.New(c.Workload)
			if err != nil {
				t.Fatal(err)
			}
			router, err := c.router(plan)
			if err != nil {
				t.Fatal(err)
			}
			keys, owners := newKeys(c.keys()), make([]byte, 10_000)
			for id := range owners {
				owners[id] = "0123456789abcdef"[router.Server(keys.key(uint64(id)))]
			}
			if got, hash := string(owners[:10]), route.Hash(owners); got != test.owners || hash != test.hash {
				t.Errorf("ids 0 to 9 go to %s, all hash to %#016x; want %s and %#016x", got, hash, test.owners, test.hash)
			}
		})
	}
}
