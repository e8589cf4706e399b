package loadgen

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/wire"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// small returns a run of a few thousand records and some hundredths of a second.
func small() Config {
	c := DefaultConfig()
	c.Workload.Records, c.Workers, c.Batch, c.ValueSize = 3001, 3, 200, size.Constant(100)
	c.WarmUp, c.Window, c.CallTimeout = 10*time.Millisecond, 40*time.Millisecond, time.Minute // a busy machine may take long for a call
	return c
}

// connected returns a generator that has a connection to every server.
func connected(t testing.TB, c Config) *Generator {
	t.Helper()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	return g
}

// mixed sets a mix of the shares of reads, inserts, deletes and scans; the rest are updates.
func mixed(c *Config, reads, inserts, deletes, scans float64) {
	w := &c.Workload
	w.Workload, w.Reads, w.Inserts, w.Deletes, w.Scans = workload.Mix, reads, inserts, deletes, scans
}

func opened(t *testing.T, name string) kvs.Engine {
	t.Helper()
	e, err := engine.Open(name, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// counted is a run of two clients and three servers whose counts agree.
type counted struct {
	name, engine, codec string
	change              func(*Config)
}

// countedRuns returns runs with each workload, kind, codec, loop and way to share connections.
func countedRuns() []counted {
	work := func(name string) func(*Config) { return func(c *Config) { c.Workload.Workload = name } }
	return []counted{
		{"A", "mutex", "binary", work(workload.YCSBA)},
		{"A, some in flight", "mutex", "binary", func(c *Config) {
			c.Workload.Workload, c.InFlight, c.Features = workload.YCSBA, 3, wire.Features{Dedup: true, CRC: true}
		}},
		{"B", "mutex", "gob", work(workload.YCSBB)},
		{"A, fewer records than workers", "mutex", "binary", func(c *Config) { c.Workload.Workload, c.Workload.Records, c.Workers = workload.YCSBA, 2, 5 }},
		{"C, many in flight", "mutex", "binary", func(c *Config) { c.Workload.Workload, c.InFlight, c.Dedup = workload.YCSBC, 8, true }},
		{"F, one connection", "mutex", "binary", func(c *Config) {
			c.Workload.Workload, c.Workload.Records, c.Workers, c.Connections, c.Batch, c.InFlight, c.CRC = workload.YCSBF, 501, 5, 1, 1, 2, true
		}},
		{"F, two connections", "mutex", "binary", func(c *Config) {
			c.Workload.Workload, c.Workload.Records, c.Workers, c.Connections, c.Batch, c.InFlight = workload.YCSBF, 1001, 5, 2, 3, 3
		}},
		{"F, adaptive batches", "mutex", "gob", func(c *Config) {
			c.Workload.Workload, c.Workload.Records, c.Workers, c.Connections, c.InFlight = workload.YCSBF, 1001, 5, 2, 2
			c.AutoBatch, c.TargetLatency = true, time.Millisecond
		}},
		{"B, constant open loop", "mutex", "binary", func(c *Config) { c.Rate.OpsPerS, c.Arrivals = 3000, workload.Constant }},
		{"B, open loop, adaptive batches", "mutex", "binary", func(c *Config) {
			c.Rate.OpsPerS, c.AutoBatch, c.TargetLatency = 3000, true, time.Millisecond
		}},
		{"D", "syncmap", "binary", work(workload.YCSBD)},
		{"D, some in flight", "mutex", "gob", func(c *Config) { c.Workload.Workload, c.InFlight = workload.YCSBD, 3 }},
		{"D, open loop", "slab", "binary", func(c *Config) { c.Workload.Workload, c.Rate.OpsPerS = workload.YCSBD, 20_000 }},
		{"E", "btree", "binary", work(workload.YCSBE)},
		{"E, scrambled", "btree", "gob", func(c *Config) { c.Workload.Workload, c.Workload.Scramble = workload.YCSBE, true }},
		{"E, some in flight", "btree", "binary", func(c *Config) { c.Workload.Workload, c.InFlight, c.Dedup = workload.YCSBE, 3, true }},
		{"E, open loop", "btree", "binary", func(c *Config) { c.Workload.Workload, c.Rate.OpsPerS, c.KeyPrefix = workload.YCSBE, 5000, "user" }},
		{"deletes", "syncmap", "binary", func(c *Config) { mixed(c, 0.5, workload.StandardMix, 0.2, workload.StandardMix) }},
		{"deletes and inserts, latest", "sharded", "binary", func(c *Config) {
			mixed(c, 0.5, 0.2, 0.1, workload.StandardMix)
			c.Workload.Distribution = workload.Latest
		}},
		{"all", "btree", "binary", func(c *Config) { mixed(c, 0.3, 0.2, 0.1, 0.2); c.Workload.ReadModifyWrites = 0.1; c.InFlight = 2 }},
		{"all, open loop", "btree", "binary", func(c *Config) { mixed(c, 0.3, 0.2, 0.1, 0.2); c.Rate.OpsPerS = 5000 }},
	}
}

// Of every kind, the operations that two clients verified are exactly those that three
// servers applied, pair by pair. What is stored at the end was loaded or inserted, and not
// deleted. An open loop offers exactly its arrivals.
func TestCountsAgree(t *testing.T) {
	for _, test := range countedRuns() {
		t.Run(test.name, func(t *testing.T) {
			c := small()
			c.Codec, c.Clients, c.Batch, c.Engine, c.Workload.ScanLength = test.codec, 2, 40, test.engine, 20
			if test.change(&c); c.Rate.OpsPerS > 0 {
				c.Window = 100 * time.Millisecond
			}
			servers, clients, _ := runOnStores(t, c, 3)
			plan, err := workload.New(c.Workload)
			if err != nil {
				t.Fatal(err)
			}
			deletes := plan.Share(workload.Delete) > 0
			records, most := 0, int(c.Workload.Records)
			for _, s := range servers {
				records += s.engine.Len()
				if n := s.service.Conns(); c.Connections > 0 && n != c.Clients*c.Connections {
					t.Errorf("%s: %d connections, want %d of each client", s.name, n, c.Connections)
				}
			}
			for i, g := range clients {
				if _, err := g.Latency().Collect(0, 1); err != nil {
					t.Fatal(err)
				}
				s := g.Summary()
				most += int(s.Total.Inserts)
				checkAgainst(t, g.config.Node, s, servers, deletes)
				checkDigests(t, g, s)
				checkKinds(t, plan, s)
				checkLatencies(t, s)
				if o := s.Offered; c.Rate.OpsPerS > 0 && (o.Ops != dueIn(g.config, i) || o.Arrivals != c.Arrivals) {
					t.Errorf("client %d: offered %+v, its arrivals say %d", i, o, dueIn(g.config, i))
				}
			}
			if records > most || !deletes && records < most {
				t.Errorf("%d records are stored, %d were loaded or inserted", records, most)
			}
		})
	}
}

// checkLatencies compares the latencies of operations with the operations that were due.
func checkLatencies(t *testing.T, s metrics.Summary) {
	t.Helper()
	var sums metrics.Rounds
	for _, w := range s.Workers {
		sums.Ops += w.Rounds.Ops
	}
	due := metrics.Counts{}
	for _, p := range s.Peers {
		due = due.Add(p.Latency.Due)
	}
	if q := s.Latency[metrics.OpLatency]; q.Values+q.OutOfRange != due.Ops() || sums.Ops != due.Ops() {
		t.Errorf("%d latencies, and %d of the workers, of %d operations", q.Values+q.OutOfRange, sums.Ops, due.Ops())
	}
	for kind, want := range due.ByKind() {
		if q := s.Latency[metrics.KindNames[kind]]; q.Values+q.OutOfRange != want && kind < metrics.OpKinds {
			t.Errorf("%d latencies of %d operations of kind %s", q.Values+q.OutOfRange, want, metrics.KindNames[kind])
		}
	}
}

// checkKinds: the kinds occur that the plan has, and a part of each scan for every other
// server.
func checkKinds(t *testing.T, plan *workload.Plan, s metrics.Summary) {
	t.Helper()
	drawn := s.Total
	for _, p := range s.Peers {
		drawn = drawn.Sub(p.Load)
	}
	for kind, n := range drawn.ByKind() {
		if kind == int(kvs.ScanPart) {
			if n != drawn.Scans*uint64(len(s.Peers)-1) {
				t.Errorf("%d parts of %d scans", n, drawn.Scans)
			}
		} else if has := plan.Share(workload.Kind(kind)) > 0; has != (n > 0) {
			t.Errorf("%d operations of kind %d, whose share is %g", n, kind, plan.Share(workload.Kind(kind)))
		}
	}
}

// dueIn counts a client's arrivals in the window.
func dueIn(c Config, client int) (n uint64) {
	for worker := range c.Workers {
		a := workload.NewArrivals(c.Arrivals, c.Rate.OpsPerS, c.Workload.Seed, workload.Place{Node: client, Nodes: c.Clients, Worker: worker, Workers: c.Workers})
		var due [1]time.Duration
		for a.Next() < c.WarmUp+c.Window {
			a.Due(math.MaxInt64, due[:])
			if due[0] >= c.WarmUp {
				n++
			}
		}
	}
	return n
}

// runOnStores runs c.Clients clients on n servers. On a busy machine the window of a closed
// loop may have too few replies to have every kind, or no recorded operation: then it runs
// them again with a longer one, on new servers.
func runOnStores(t *testing.T, c Config, n int) (servers []*store, clients []*Generator, summaries []metrics.Summary) {
	t.Helper()
	least := uint64(400)
	if c.Rate.OpsPerS > 0 {
		least = 1
	}
	few := func(s metrics.Summary) bool { return s.InWindow.Ops() < least || s.Check != nil && s.Check.Ops == 0 }
	for again := true; again; c.Window *= 4 {
		servers, c.Hosts = newStoresOf(t, n, c.Codec, c.Engine)
		clients, summaries = runClients(t, c)
		again = slices.ContainsFunc(summaries, few) && c.Window < 10*time.Second && !t.Failed()
	}
	return servers, clients, summaries
}

// runClients runs c.Clients clients at once. All load before any measures.
func runClients(t *testing.T, c Config) ([]*Generator, []metrics.Summary) {
	clients, summaries := make([]*Generator, c.Clients), make([]metrics.Summary, c.Clients)
	var running, loaded sync.WaitGroup
	loaded.Add(c.Clients)
	for i := range clients {
		c.Node, c.Index = fmt.Sprintf("client%d", i), i
		g := connected(t, c)
		clients[i] = g
		running.Go(func() {
			err := g.Load(context.Background())
			loaded.Done()
			loaded.Wait()
			if err == nil {
				err = g.Measure(context.Background(), func(metrics.Phase) error { return nil })
			}
			if err != nil {
				t.Error(err)
			}
			summaries[i] = g.Summary()
		})
	}
	running.Wait()
	return clients, summaries
}

// checkAgainst compares a client's summary with what the servers counted.
func checkAgainst(t *testing.T, client string, summary metrics.Summary, servers []*store, deletes bool) {
	t.Helper()
	var sum metrics.Counts
	for i, s := range servers {
		peer, applied := summary.Peers[i], s.service.Counts()[client]
		if peer.Peer != s.name || peer.Counts != applied {
			t.Errorf("%s: %s counts %+v, %s %+v", client, peer.Peer, peer.Counts, s.name, applied)
		}
		sum = sum.Add(applied)
	}
	if sum != summary.Total {
		t.Errorf("%s: in all %+v, the servers applied %+v", client, summary.Total, sum)
	}
	if v := summary.Verification; v.Failures != 0 || !deletes && summary.Total.Misses != 0 || summary.Total.Deletes+summary.Total.Scans == 0 && v.Checked != summary.Total.Hits {
		t.Errorf("%s: verification %+v of %+v", client, v, summary.Total)
	}
	if w := summary.InWindow; w.Ops() == 0 || w.Ops() >= summary.Total.Ops() {
		t.Errorf("%s: %d operations in the window of %d", client, w.Ops(), summary.Total.Ops())
	}
}

// checkDigests draws each worker's operations again from the seed alone: the digests are
// the same. After the load, the drawn operations are the verified ones.
func checkDigests(t *testing.T, g *Generator, summary metrics.Summary) {
	t.Helper()
	plan, err := workload.New(g.config.Workload)
	if err != nil {
		t.Fatal(err)
	}
	drawn := uint64(0)
	for i, w := range g.workers {
		again := plan.Source(g.config.place(i))
		again.Fill(make([]workload.Op, w.source.Drawn()))
		if got, want := summary.Digests[i], fmt.Sprintf("%016x", again.Digest()); got != want {
			t.Errorf("worker %d: digest %s, drawn again %s", i, got, want)
		}
		drawn += w.source.Drawn()
	}
	from, to := workload.Place{Node: g.config.Index, Nodes: g.config.Clients, Workers: 1}.Part(g.config.Workload.Records)
	if loaded := 2 * (to - from); summary.Total.Ops() != loaded+drawn {
		t.Errorf("%d operations verified, want %d of the load and %d drawn", summary.Total.Ops(), loaded, drawn)
	}
}
