package loadgen

import (
	"math"
	"testing"

	"kvlab/kvs/route"
	"kvlab/workload"
)

// What the law says of the head is what adding all records up one by one gives.
func TestLawHead(t *testing.T) {
	for _, router := range route.Names {
		c := DefaultConfig()
		c.Workload.Records, c.Workload.Scramble, c.Router = 5000, true, router
		c.Hosts = []string{"a:1", "b:1", "c:1"}
		g, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		l := g.law()
		if len(l.Head) != headRecords || l.Router != router {
			t.Fatalf("%s: %d head records, router %s", router, len(l.Head), l.Router)
		}
		keys := newKeys("")
		for rank, h := range l.Head {
			key, hash := keys.key(g.plan.Key(uint64(rank)))
			if h.Server != g.router.Server(key, hash) || h.Cell != route.Cell(hash) || h.Share != g.plan.Mass(uint64(rank)) {
				t.Errorf("%s: rank %d: %+v", router, rank, h)
			}
			want := 0.0
			for other := range c.Workload.Records {
				key, hash := keys.key(g.plan.Key(other))
				if g.router.Server(key, hash) == h.Server && route.Cell(hash) == h.Cell {
					want += g.plan.Mass(other)
				}
			}
			if math.Abs(h.CellShare/want-1) > 1e-3 { // the router's shares are rounded
				t.Errorf("%s: rank %d: its cell has %v, want %v", router, rank, h.CellShare, want)
			}
		}
	}
}

// The balance of a router is that of the forecast of a run with it.
func TestLawBalances(t *testing.T) {
	c := DefaultConfig()
	c.Workload.Records = 20_000
	c.Hosts = []string{"a:1", "b:1", "c:1"}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	balances := g.law().Balances
	var numbers []int
	for _, b := range balances {
		numbers = append(numbers, b.Servers)
		for router, got := range map[string]float64{"fnv": b.FNV, "balanced": b.Balanced} {
			c.Router, c.Hosts = router, make([]string, b.Servers)
			r, err := newRouter(c, g.plan)
			if err != nil {
				t.Fatal(err)
			}
			f := forecast(c, g.plan, r)
			if want := f.Even / f.Busiest; math.Abs(got-want) > 1e-6 || got > b.Best+1e-3 {
				t.Errorf("%s, %d servers: %v, the forecast says %v, the best is %v", router, b.Servers, got, want, b.Best)
			}
		}
	}
	if len(numbers) != 6 || numbers[1] != 3 {
		t.Errorf("balances of %v servers", numbers)
	}
}

// No record of a flat workload stands out.
func TestLawWithoutHead(t *testing.T) {
	c := DefaultConfig()
	c.Workload.Distribution = workload.Uniform
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if l := g.law(); l.Head != nil || l.Heaviest != 1e-6 || l.Balances == nil {
		t.Errorf("head %v, top %v, balances %v", l.Head, l.Heaviest, l.Balances)
	}
	c.Workload.Distribution = workload.Sequential
	if g, err = New(c); err != nil {
		t.Fatal(err)
	}
	if l := g.law(); l.Head != nil || l.Cells != nil || l.Balances != nil {
		t.Errorf("%+v", l)
	}
}

// BenchmarkLaw is what the first client spends on it at the end of a run.
func BenchmarkLaw(b *testing.B) {
	c := DefaultConfig()
	c.Hosts = make([]string, 4)
	for i := range c.Hosts {
		c.Hosts[i] = "a:1"
	}
	g, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		g.law()
	}
}
