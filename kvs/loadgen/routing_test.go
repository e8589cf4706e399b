package loadgen

import (
	"cmp"
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
		name    string
		change  func(*Config)
		servers []int   // the usual ones if nil
		near    float64 // 0.99 if 0
	}
	zipfian := func(law string, theta float64, records uint64) test {
		return test{name: fmt.Sprintf("zipfian/law=%s/theta=%v/records=%d", law, theta, records), change: func(c *Config) {
			c.Workload.Zipfian, c.Workload.Theta, c.Workload.Records = law, theta, records
		}}
	}
	tests := []test{
		zipfian(workload.ZipfianYCSB, 0.99, 200_000),
		zipfian(workload.ZipfianYCSB, 0.99, 1000),
		{name: "uniform", change: func(c *Config) { c.Workload.Distribution, c.Workload.Records = workload.Uniform, 100_000 }},
		{name: "sequential", change: func(c *Config) { c.Workload.Distribution = workload.Sequential }},
		{name: "latest", change: func(c *Config) { c.Workload.Distribution = workload.Latest }},
		{name: "scrambled", change: func(c *Config) { c.Workload.Scramble = true }},
		{name: "hashed to records", change: func(c *Config) { c.Workload.Distribution = workload.Scrambled }},
		{name: "scrambled latest", change: func(c *Config) { c.Workload.Distribution, c.Workload.Scramble = workload.Latest, true }},
		{name: "key prefix", change: func(c *Config) { c.KeyPrefix = "user" }},
		{name: "hotspot", change: func(c *Config) { c.Workload.Distribution = workload.Hotspot }},
		{name: "hotspot of 100 records", change: func(c *Config) {
			c.Workload.Distribution, c.Workload.HotKeys, c.Workload.HotOps = workload.Hotspot, 0.005, 0.99
		}},
		{name: "hotspot of all operations", change: func(c *Config) { c.Workload.Distribution, c.Workload.HotOps = workload.Hotspot, 1 }},
		{name: "more records than routers know", servers: []int{16}, change: func(c *Config) {
			c.Workload.Distribution, c.Workload.Records = workload.Uniform, 2*workload.KnownRanks
		}},
	}
	for _, law := range []string{workload.ZipfianYCSB, workload.ZipfianExact} {
		for _, theta := range []float64{0.5, 0.8, 0.99, 1.2, 3} {
			tests = append(tests, zipfian(law, theta, 20_000))
		}
	}
	for _, theta := range []float64{0.5, 0.8, 0.99, 1.2} { // many servers have few slots each
		many := zipfian(workload.ZipfianYCSB, theta, 20_000)
		many.name, many.servers, many.near = many.name+"/many servers", []int{32, 100, 256}, 0.97
		tests = append(tests, many)
	}
	for seed := range uint64(5) { // for any ids of the popular records no two of them share a slot
		tests = append(tests, test{fmt.Sprint("scrambled/seed=", seed), func(c *Config) {
			c.Workload.Records, c.Workload.Scramble, c.Workload.Seed = 30_000, true, seed
		}, []int{4, 11, 16}, 0.98})
	}
	usual := []int{2, 9, 16}
	if long() {
		usual = []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, servers := newRouted(t, test.change), test.servers
			if servers == nil {
				servers = usual
			}
			for _, n := range servers {
				r.testBalance(t, n, cmp.Or(test.near, 0.99))
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
