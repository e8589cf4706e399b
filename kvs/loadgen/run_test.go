package loadgen

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
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

// The operations that two clients verified are exactly those that three servers applied,
// for each pair and each kind, with each codec and transport.
func TestCountsAgree(t *testing.T) {
	tests := []struct {
		workload, codec string
		inFlight        int
		options         wire.Features
	}{
		{workload.YCSBA, "binary", 1, wire.Features{}},
		{workload.YCSBA, "binary", 3, wire.Features{Dedup: true, CRC: true}},
		{workload.YCSBB, "gob", 1, wire.Features{}},
		{workload.YCSBC, "binary", 8, wire.Features{Dedup: true}},
		{workload.YCSBF, "binary", 2, wire.Features{CRC: true}},
		{workload.YCSBF, "gob", 2, wire.Features{}},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s %s %d in flight %+v", test.workload, test.codec, test.inFlight, test.options), func(t *testing.T) {
			c := small()
			c.Workload.Workload, c.Codec, c.InFlight, c.Features, c.Clients = test.workload, test.codec, test.inFlight, test.options, 2
			c.Batch = 40
			servers, clients, summaries := runOnStores(t, c, 3)
			records := 0
			for _, s := range servers {
				records += s.engine.Len()
			}
			if records != int(c.Workload.Records) {
				t.Errorf("%d records are stored, want %d", records, c.Workload.Records)
			}
			for i, summary := range summaries {
				checkAgainst(t, clients[i].config.Node, summary, servers, false)
				checkMix(t, test.workload, summary)
				checkDigests(t, clients[i], summary)
			}
		})
	}
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

// checkMix: the window's operations are of the kinds that the workload has.
func checkMix(t *testing.T, w string, summary metrics.Summary) {
	t.Helper()
	in := summary.InWindow
	if puts := in.Puts > 0; puts != (w == workload.YCSBA || w == workload.YCSBB) {
		t.Errorf("%s: %d puts in the window", w, in.Puts)
	}
	if modifies := in.ReadModifyWrites > 0; modifies != (w == workload.YCSBF) {
		t.Errorf("%s: %d read-modify-writes in the window", w, in.ReadModifyWrites)
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

func TestRunInProcess(t *testing.T) {
	for _, name := range engine.Names {
		t.Run(name, func(t *testing.T) {
			c := small()
			c.Transport, c.Engine = driver.InProcess, name
			summary, err := runAll(t, c)
			if err != nil {
				t.Fatal(err)
			}
			if v := summary.Verification; v.Failures != 0 || summary.Total.Misses != 0 || opsAfterLoad(summary) == 0 {
				t.Errorf("%+v, verification %+v", summary.Total, v)
			}
			if peers := summary.Peers; len(peers) != 1 || peers[0].Counts != summary.Total {
				t.Errorf("peers %+v, want one with %+v", peers, summary.Total)
			}
		})
	}
}

// opsAfterLoad returns the number of operations after the load.
func opsAfterLoad(s metrics.Summary) uint64 {
	ops := s.Total.Ops()
	for _, peer := range s.Peers {
		ops -= peer.Load.Ops()
	}
	return ops
}

// With more workers than records, and larger batches, some workers load nothing.
func TestFewRecords(t *testing.T) {
	c := small()
	c.Workload.Records, c.Workers = 2, 5
	_, c.Hosts = newStores(t, 2, c.Codec)
	summary, err := runAll(t, c)
	if err != nil || summary.Total.Misses != 0 || opsAfterLoad(summary) == 0 {
		t.Errorf("error %v, %+v", err, summary.Total)
	}
}

// The phases are entered in order. The window's histograms hold exactly the calls that
// were due in it, and its counts those whose replies came in it. On a busy machine the
// warm-up or the window may have no operation: then longer ones follow.
func TestWindow(t *testing.T) {
	c := small()
	c.Transport = driver.InProcess
	for !measuredWindow(t, c) {
		if c.WarmUp, c.Window = 4*c.WarmUp, 4*c.Window; c.Window > patience {
			t.Fatal("no operation in the warm-up or in the window")
		}
	}
}

// measuredWindow checks one run. It returns false if a phase had no operation.
func measuredWindow(t *testing.T, c Config) bool {
	t.Helper()
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	loaded := g.Counts()
	var entered []metrics.Phase
	var warmed metrics.Counts
	err := g.Measure(context.Background(), func(p metrics.Phase) error {
		if entered = append(entered, p); p == metrics.Window {
			warmed = g.Counts()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(entered) != "[warmup window drain]" {
		t.Errorf("entered %v", entered)
	}
	if _, err := g.Latency().Collect(0, 1); err != nil {
		t.Fatal(err)
	}
	s := g.Summary()
	tally := s.Peers[0].Latency
	if n := s.Latency[metrics.CallLatency].Count; n != tally.Due.Calls || s.InWindow.Calls != tally.Replied.Calls {
		t.Errorf("the window has %d calls, its histogram %d; the latencies count %+v", s.InWindow.Calls, n, tally)
	}
	if s.InWindow.Ops()+loaded.Ops() > s.Total.Ops() {
		t.Errorf("loaded %d, after the warm-up %d, in the window %d, in all %d", loaded.Ops(), warmed.Ops(), s.InWindow.Ops(), s.Total.Ops())
	}
	if s.WindowLengthS != c.Window.Seconds() || s.WindowStart.IsZero() {
		t.Errorf("the window is %v s from %v", s.WindowLengthS, s.WindowStart)
	}
	return warmed.Ops() > loaded.Ops() && s.InWindow.Ops() > 0
}

func TestSchedule(t *testing.T) {
	opens := time.Now()
	s := fixed(opens, opens.Add(time.Second))
	for after, want := range map[time.Duration]metrics.Phase{
		-time.Hour: metrics.WarmUp, -1: metrics.WarmUp, 0: metrics.Window, time.Second - 1: metrics.Window,
		time.Second: metrics.Drain, time.Hour: metrics.Drain,
	} {
		if got, _ := s.at(momentOf(opens.Add(after))); got != want {
			t.Errorf("%v after the window opens: %s, want %s", after, got, want)
		}
	}
}

// together is an engine that answers when all engines of a round have a call.
type together struct {
	kvs.Engine
	round *sync.WaitGroup
	once  *sync.Once
}

func (e together) Apply(ops []kvs.Op, reply *kvs.Reply) {
	e.once.Do(e.round.Done)
	e.round.Wait()
	e.Engine.Apply(ops, reply)
}

// A round's batches are under way to all servers at once.
func TestRoundIsInFlightTogether(t *testing.T) {
	c := small()
	c.Workers, c.Hosts = 1, nil
	var round sync.WaitGroup
	round.Add(3)
	for i := range 3 {
		s := newStore(t, fmt.Sprint(i), c.Codec, together{engine.NewMutex(), &round, new(sync.Once)})
		c.Hosts = append(c.Hosts, s.addr)
	}
	if err := within(t, "the run", func() error { _, err := runAll(t, c); return err }); err != nil {
		t.Error(err)
	}
}

// A round of Gets allocates nothing after the first rounds.
func TestRoundAllocations(t *testing.T) {
	c := small()
	c.Workload.Workload, c.Workload.Records, c.Workers, c.Transport, c.Engine = workload.YCSBC, 500, 1, driver.InProcess, "mutex"
	g := connected(t, c)
	if err := g.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	w := g.workers[0]
	r := &w.rounds[0]
	window := &span{now(), now() + time.Hour, metrics.EdgeSlot(time.Hour)}
	round := func() {
		r.begin()
		r.empty()
		w.source.Fill(w.block.ops[:c.Batch])
		w.add(r, w.block.ops[:c.Batch])
		w.send(r)
		if err := w.finish(r, func(moment) (metrics.Phase, *span) { return metrics.Window, window }); err != nil {
			t.Error(err)
		}
	}
	for range 100 {
		round()
	}
	// A garbage collection in between empties the pool of the server's scratch.
	if n := testing.AllocsPerRun(200, round); n >= 1 {
		t.Errorf("%v allocations for a round of %d operations", n, c.Batch)
	}
}

// witness records the operations of an engine, in order.
type witness struct {
	kvs.Engine
	seen []string // of a single connection
}

func (w *witness) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for _, op := range ops {
		w.seen = append(w.seen, op.Kind.String()+" "+string(op.Key))
	}
	w.Engine.Apply(ops, reply)
}

// A worker's operations are applied in the order in which it drew them, also with
// several rounds under way.
func TestOrderIsKept(t *testing.T) {
	e := &witness{Engine: engine.NewMutex()}
	c := small()
	c.Workload.Workload, c.Workload.Scramble, c.KeyPrefix = workload.YCSBF, true, "user"
	c.Workers, c.InFlight, c.Batch = 1, 5, 37
	s := newStore(t, "server0", c.Codec, e)
	c.Hosts = []string{s.addr}
	if _, err := runAll(t, c); err != nil {
		t.Fatal(err)
	}
	s.Cut()
	s.sessionsEnd(t)
	plan, err := workload.New(c.Workload)
	if err != nil {
		t.Fatal(err)
	}
	drawn := e.seen[2*c.Workload.Records:] // after the load
	source := plan.Source(c.place(0))
	for i, got := range drawn {
		op := nextOp(source)
		if want := fmt.Sprintf("%s user%d", kvs.Kind(op.Kind), op.Key); got != want {
			t.Fatalf("operation %d of %d is %s, want %s", i, len(drawn), got, want)
		}
	}
	if len(drawn) < 5*c.Batch {
		t.Errorf("only %d operations", len(drawn))
	}
}

// nextOp draws one operation.
func nextOp(source *workload.Source) workload.Op {
	var op [1]workload.Op
	source.Fill(op[:])
	return op[0]
}

// fixed returns a schedule whose window is decided.
func fixed(opens, closes time.Time) schedule {
	s := newSchedule()
	s.decide(opens, closes, metrics.EdgeSlot(closes.Sub(opens)))
	return s
}
