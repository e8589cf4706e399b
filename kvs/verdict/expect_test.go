package verdict

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"

	"kvlab/kvs/route"
	"kvlab/metrics/stats"
	"kvlab/workload"
	"kvlab/workload/size"
)

// planned returns the plan of a configuration, and the flags that it is typed with.
func planned(t testing.TB, c workload.Config, router, prefix string) (*workload.Plan, map[string]string) {
	t.Helper()
	plan, err := workload.New(c)
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{"router": router, "key-prefix": prefix, "batch": "8192"}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Define(fs)
	fs.VisitAll(func(f *flag.Flag) { flags[f.Name] = f.Value.String() })
	return plan, flags
}

// owners returns the server of each record, by rank, and the hash of its key.
func owners(t testing.TB, plan *workload.Plan, records uint64, router, prefix string, servers int) (owner []int, hashes []uint64) {
	t.Helper()
	by, err := route.New(router, servers, func(yield func(hash, share uint64) bool) {
		for id, share := range plan.Popular() {
			if !yield(route.Hash([]byte(prefix+strconv.FormatUint(id, 10))), share) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for rank := range records {
		key := []byte(prefix + strconv.FormatUint(plan.Key(rank), 10))
		hashes = append(hashes, route.Hash(key))
		owner = append(owner, by.Server(key, route.Hash(key)))
	}
	return owner, hashes
}

// The expected shares are what adding all records up one by one gives.
func TestExpectedShares(t *testing.T) {
	for _, router := range route.Names {
		for _, prefix := range []string{"", "user"} {
			t.Run(fmt.Sprintf("%s %q", router, prefix), func(t *testing.T) {
				c := workload.DefaultConfig()
				c.Records, c.Scramble = 5000, true
				plan, flags := planned(t, c, router, prefix)
				e, err := expect(flags, 3)
				if err != nil {
					t.Fatal(err)
				}
				if len(e.top) != topRecords || e.Router != router || e.kinds[0] != 0.95 || e.Records != 5000 || e.TopShare != plan.Mass(0) || e.Law != "-workload YCSB-B -theta 0.99" {
					t.Fatalf("expected %+v", e)
				}
				owner, hashes := owners(t, plan, c.Records, router, prefix, 3)
				near := func(what string, got, want float64) {
					if math.Abs(got/want-1) > 1e-3 { // the router's shares are rounded
						t.Errorf("%s %v, want %v", what, got, want)
					}
				}
				for rank, h := range e.top {
					if h.server != owner[rank] || h.cell != route.Cell(hashes[rank]) || h.share != plan.Mass(uint64(rank)) {
						t.Errorf("rank %d: %+v", rank, h)
					}
					want := 0.0
					for other := range hashes {
						if owner[other] == h.server && route.Cell(hashes[other]) == h.cell {
							want += plan.Mass(uint64(other))
						}
					}
					near(fmt.Sprintf("cell of rank %d", rank), h.cellShare, want)
				}
				cells := make([][route.Groups]float64, 3)
				for rank := range hashes {
					cells[owner[rank]][route.Group(hashes[rank])] += plan.Mass(uint64(rank))
				}
				for server := range cells {
					for group, want := range cells[server] {
						near(fmt.Sprintf("server %d, group %d:", server, group), e.cells[server][group], want)
					}
				}
			})
		}
	}
}

// The expected shares of a workload that inserts, and of hashed records, are what adding all
// records up one by one gives, and the first of those that are inserted. With KVLAB_LONG=1
// every router has hashed records, too.
func TestExpectedSharesOfInserts(t *testing.T) {
	for _, distribution := range []string{workload.Zipfian, workload.Scrambled} {
		c := workload.DefaultConfig()
		c.Workload, c.Records, c.Distribution = workload.Mix, 5000, distribution
		c.Scans, c.Inserts = 0.5, 0.3
		records := keyed(t, c)
		for _, router := range route.Names {
			if distribution == workload.Scrambled && router != "fnv" && router != "balanced" && os.Getenv("KVLAB_LONG") != "1" {
				continue // such records are looked up one by one, which takes long
			}
			t.Run(router+" "+distribution, func(t *testing.T) {
				plan, flags := planned(t, c, router, "user")
				e, err := expect(flags, 3)
				if err != nil {
					t.Fatal(err)
				}
				keys := route.NewKeys(c, "user", size.Law{})
				by, err := route.New(router, 3, keys.Popularity(plan.Popular()))
				if err != nil {
					t.Fatal(err)
				}
				want, whole := make([][route.Groups]float64, 3), 0.0
				for _, r := range records {
					want[by.Server([]byte(r.key), r.hash)][route.Group(r.hash)] += r.share
				}
				for server := range want {
					for group, want := range want[server] {
						got := e.cells[server][group]
						if whole += got; math.Abs(got/want-1) > 1e-3 {
							t.Errorf("server %d, group %d: %v, want %v", server, group, got, want)
						}
					}
				}
				if math.Abs(whole-1) > 1e-3 || e.kinds[workload.Insert] != 0.3 || e.kinds[workload.Scan] != 0.5 || e.TopShare != plan.Mass(0) {
					t.Errorf("shares sum to %v; kinds %v, top share %v", whole, e.kinds, e.TopShare)
				}
			})
		}
	}
}

// keyedRecord is a record's key, and its share of all operations.
type keyedRecord struct {
	key   string
	hash  uint64
	share float64
}

// keyed looks the records of a configuration up one by one, and the first of those that are
// inserted.
func keyed(t *testing.T, c workload.Config) (records []keyedRecord) {
	t.Helper()
	plan, _ := planned(t, c, "fnv", "user")
	keys := route.NewKeys(c, "user", size.Law{})
	add := func(id uint64, share float64) {
		key, hash := keys.Append(nil, id)
		if len(key) != len("user0000000000000") {
			t.Fatalf("key %s", key)
		}
		records = append(records, keyedRecord{string(key), hash, share})
	}
	for rank := range c.Records {
		add(plan.Key(rank), plan.Mass(rank))
	}
	for k := range uint64(knownInserts) {
		add(c.Records+k, c.Inserts/knownInserts)
	}
	return records
}

// The load of the servers that -router balanced makes of hashed records is even.
func TestBalancedOfHashedRecords(t *testing.T) {
	c := workload.DefaultConfig()
	c.Distribution, c.Records = workload.Scrambled, 100_000
	_, flags := planned(t, c, "balanced", "")
	e, err := expect(flags, 4)
	if err != nil {
		t.Fatal(err)
	}
	for server, cells := range e.cells {
		if got := stats.Total(cells); math.Abs(got-0.25) > 1e-3 {
			t.Errorf("server %d has %v of the operations, want a quarter", server, got)
		}
	}
}

// The balance of a router is that of its servers' shares.
func TestExpectedBalances(t *testing.T) {
	c := workload.DefaultConfig()
	c.Records = 20_000
	plan, flags := planned(t, c, "fnv", "")
	e, err := expect(flags, 3)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, b := range e.Balances {
		numbers = append(numbers, b.Servers)
		for router, got := range map[string]float64{"fnv": b.FNV, "balanced": b.Balanced} {
			owner, _ := owners(t, plan, c.Records, router, "", b.Servers)
			shares := make([]uint64, b.Servers)
			for rank, server := range owner {
				shares[server] += uint64(plan.Mass(uint64(rank)) * route.WholeShare)
			}
			if want := stats.Balance(shares); math.Abs(got-want) > 1e-3 || got > b.Best+1e-3 {
				t.Errorf("%s, %d servers: %v, the shares say %v, the best is %v", router, b.Servers, got, want, b.Best)
			}
		}
	}
	if len(numbers) != 6 || numbers[1] != 3 {
		t.Errorf("balances of %v servers", numbers)
	}
}

// No record of a flat workload stands out.
func TestExpectNoTopRecord(t *testing.T) {
	c := workload.DefaultConfig()
	c.Distribution = workload.Uniform
	_, flags := planned(t, c, "fnv", "")
	if e, err := expect(flags, 2); err != nil || e.top != nil || e.TopShare != 1e-6 || e.Balances == nil {
		t.Errorf("expected %+v, %v", e, err)
	}
	latest := workload.DefaultConfig()
	c.Distribution, latest.Workload = workload.Sequential, workload.YCSBD
	for _, c := range []workload.Config{c, latest} {
		_, flags = planned(t, c, "fnv", "")
		if e, err := expect(flags, 2); err != nil || e.top != nil || e.cells != nil || e.Balances != nil || e.TopShare != 0 || e.kinds[0] != 0.95 {
			t.Errorf("expected %+v, %v", e, err)
		}
	}
}

// BenchmarkExpect is what the launcher spends on it at the end of a run.
func BenchmarkExpect(b *testing.B) {
	_, flags := planned(b, workload.DefaultConfig(), "fnv", "")
	for b.Loop() {
		if _, err := expect(flags, 4); err != nil {
			b.Fatal(err)
		}
	}
}
