package loadgen

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/route"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/value"
	"kvlab/kvs/verdict"
	"kvlab/kvs/wire"
	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
	"kvlab/workload/size"
)

// mistake is a mistake that real labs have made, and its text in the verdict.
type mistake struct {
	name   string
	config func(c *Config)                          // nil for trialOf's
	engine func() kvs.Engine                        // nil for an honest one
	load   func(g *Generator)                       // what is wrong from the beginning; may be nil
	skip   bool                                     // nothing is loaded
	lie    func(g *Generator, engines []kvs.Engine) // what is wrong after the load; may be nil
	count  func(g *Generator)                       // what is wrong when all is added up; may be nil
	ops    uint64                                   // the least number of operations; 0 for what a statistical test takes
	want   string                                   // in the verdict; or one of several, with | between them
}

// everyConn wraps each worker's conns.
func everyConn(wrap func(w *worker, c driver.Conn) driver.Conn) func(*Generator) {
	return func(g *Generator) {
		for _, w := range g.workers {
			wrapped := make([]driver.Conn, len(w.conns))
			for i, c := range w.conns {
				wrapped[i] = wrap(w, c)
			}
			w.conns = wrapped
		}
	}
}

// afterLoad applies a change to a generator after the load.
func afterLoad(f func(*Generator)) func(*Generator, []kvs.Engine) {
	return func(g *Generator, _ []kvs.Engine) { f(g) }
}

// sources gives the workers others' sources.
func sources(change func(c *workload.Config), worker func(id int) int) func(*Generator, []kvs.Engine) {
	return afterLoad(func(g *Generator) {
		c := g.config.Workload
		change(&c)
		plan, err := workload.New(c)
		if err != nil {
			panic(err)
		}
		for _, w := range g.workers {
			w.source = plan.Source(g.config.place(worker(w.id)))
		}
	})
}

func itself(id int) int { return id }

// few operations show a mistake that a count or a value gives away.
const few = 6000

func mistakes() []mistake {
	return []mistake{
		{name: "operations dropped when queues are full", ops: few, want: "operations and",
			lie: afterLoad(everyConn(func(w *worker, c driver.Conn) driver.Conn { return &discarding{Conn: c, worker: w} }))},
		{name: "random routing", want: "random routing", lie: afterLoad(randomRoutes)},
		{name: "random routing of reads", want: "random routing", config: func(c *Config) { c.Workload.Workload = workload.YCSBC }, lie: afterLoad(randomRoutes)},
		{name: "another router", ops: few, want: "wrong or random routing", load: func(g *Generator) {
			for _, w := range g.workers {
				w.router, _ = route.New("balanced", g.config.Servers(), nil)
			}
		}},
		{name: "random routing from the beginning", ops: few, want: "are not there: lost, or a key's operations go to different servers", load: randomRoutes},
		{name: "values that expire", ops: few, want: "expire", engine: func() kvs.Engine { return newExpiring(false) }, lie: expire},
		{name: "values that expire and leave nothing", ops: few, want: "an empty value, want 100 bytes: it has expired", engine: func() kvs.Engine { return newExpiring(true) }, lie: expire},
		{name: "reads sent as writes", ops: few, want: "sent some as another kind (reads as writes?)",
			lie: afterLoad(everyConn(func(w *worker, c driver.Conn) driver.Conn {
				return &rewriting{Conn: c, forward: func(op kvs.Op) (kvs.Op, bool) {
					op.Kind, op.Value = kvs.Put, newValue(100, route.Hash(op.Key), value.NewWriter(0, w.id))
					return op, true
				}}
			}))},
		{name: "reads drawn as writes", want: "the mix is wrong (reads sent as writes?)",
			lie: sources(func(c *workload.Config) { c.Workload = workload.YCSBA }, itself)},
		{name: "counted when sent", ops: few, want: "counted some before they were done (when sent, or dropped on the way",
			lie: afterLoad(everyConn(func(_ *worker, c driver.Conn) driver.Conn {
				n := 0
				return &rewriting{Conn: c, forward: func(op kvs.Op) (kvs.Op, bool) { n++; return op, n%100 != 0 }}
			}))},
		{name: "one worker's result lost", ops: few, want: "the client lost results before it counted them (a worker's",
			count: func(g *Generator) { g.workers = g.workers[:len(g.workers)-1] }},
		{name: "the window's count three times too high", ops: few, want: "and the latencies count", count: func(g *Generator) {
			for _, w := range g.workers {
				for i := range w.window {
					w.window[i].Gets *= 3
				}
			}
		}},
		{name: "a worker's calls without latencies", ops: few, want: "and the latencies count",
			lie: afterLoad(func(g *Generator) { g.workers[0].recorder = new(latency.Recorder) })},
		{name: "batches of twice the size", ops: few, want: "-batch 50 makes",
			lie: afterLoad(func(g *Generator) { g.config.Batch *= 2 })},
		{name: "an open loop of another seed", ops: few, want: "were not timed from when the seed says", config: tooFast,
			count: func(g *Generator) { g.workers[0].dues++ }},
		{name: "latencies capped", ops: few, want: "the histogram's mean latency of operations is", count: func(g *Generator) {
			for _, w := range g.workers {
				w.ops.sum *= 1.1
			}
		}},
		{name: "calls sent twice", ops: few, want: "the client lost results",
			lie: afterLoad(everyConn(func(_ *worker, c driver.Conn) driver.Conn { return &twice{Conn: c} }))},
		{name: "batch results swapped", ops: few, want: "the value of another key", engine: func() kvs.Engine {
			return &liar{Engine: engine.NewMutex(), after: swapped}
		}, lie: lying},
		{name: "a client's cache that serves stale values", ops: few, want: "a cache answered some before the server", lie: afterLoad(everyConn(cached))},
		{name: "one generator for all workers", want: "they share a generator",
			lie: sources(func(*workload.Config) {}, func(int) int { return 0 })},
		{name: "wrong theta", want: "the skew is wrong (wrong theta?)",
			lie: sources(func(c *workload.Config) { c.Theta = 0.5 }, itself)},
		{name: "wrong skew in the tail", want: "the skew is wrong",
			lie: afterLoad(everyConn(otherKeys(func(at, n int) int { return n - 1 - at })))},
		{name: "nine tenths of the records never asked for", want: "the skew is wrong|random routing", // in a long run
			lie: afterLoad(everyConn(otherKeys(func(at, _ int) int { return at - at%10 })))},
		{name: "each key drawn twice in a row", want: "successive draws are not independent", lie: afterLoad(everyConn(repeated))},
		{name: "each hundredth put dropped", ops: few, want: "a write is lost", config: updates,
			engine: func() kvs.Engine { return losing(func(string, uint64) bool { return true }, 100) }, lie: lying},
		{name: "a third of the puts to cold keys dropped", want: "a write is lost",
			engine: func() kvs.Engine { return losing(func(key string, _ uint64) bool { return len(key) > 2 }, 3) }, lie: lying},
		{name: "a server's stale cache", ops: few, want: "an old value was read",
			engine: func() kvs.Engine { return &liar{Engine: engine.NewMutex(), after: remembering()} }, lie: lying},
		{name: "puts applied when no more come", ops: few, want: "stale read", config: updates,
			engine: func() kvs.Engine { return deferring(engine.NewMutex()) }, lie: lying},
		{name: "others' writes seen when the run is over", ops: few, want: "a stale read in the window", config: updates, lie: afterLoad(everyConn(ownView))},
		{name: "values made up", ops: few, want: "a value of an earlier run, or made up", load: func(g *Generator) { g.SetKey(value.Key{1, 2}) },
			engine: func() kvs.Engine { return &liar{Engine: engine.NewMutex(), after: oneFound(madeUp)} }, lie: lying},
		{name: "sizes of another seed", ops: few, want: " bytes, want ", config: ranged, lie: afterLoad(func(g *Generator) {
			for _, w := range g.workers {
				w.sizes = g.config.ValueSize.Values(g.config.Workload.Seed + 1)
			}
		})},
		{name: "smaller sizes, for writers and readers", want: "bytes were sent with", config: ranged, load: func(g *Generator) {
			for _, w := range g.workers {
				w.sizes = size.Law{Least: 24, Most: 512}.Values(g.config.Workload.Seed)
				w.checker.Sizes = w.sizes
			}
		}},
		{name: "wrong seed", ops: few, want: "are not those of its seed",
			lie: sources(func(c *workload.Config) { c.Seed++ }, itself)},
		{name: "empty store", ops: few, want: "0 of 1000 records were loaded", skip: true},
		{name: "constant values", want: "the values are constant or compressible", load: bodies(func(b []byte) { clear(b) })},
		{name: "compressible values", want: "the values are constant or compressible", load: bodies(func(b []byte) {
			for i := range b {
				b[i] = 'a' + b[i]%26
			}
		})},
	}
}

func ranged(c *Config) { c.ValueSize = size.Law{Least: 24, Most: 1024} }

// judged returns the verdict on a run of two servers and a client that makes a mistake;
// the zero mistake is an honest run.
func judged(t *testing.T, c Config, m mistake) metrics.Verdict {
	t.Helper()
	run, err := trial(t, c, m)
	if err != nil {
		return metrics.Verdict{Node: c.Node, Reason: err.Error()}
	}
	return verdict.Judge(&run)
}

// trial makes such a run. Its error is what ended it.
func trial(t *testing.T, c Config, m mistake) (run metrics.Run, err error) {
	t.Helper()
	if m.config != nil {
		m.config(&c)
	}
	var stores []*store
	var engines []kvs.Engine
	c.Hosts = nil
	for i := range 2 {
		var e kvs.Engine = engine.NewMutex()
		if m.engine != nil {
			e = m.engine()
		}
		s := newStore(t, fmt.Sprintf("server%d", i), c.Codec, e)
		stores, engines, c.Hosts = append(stores, s), append(engines, e), append(c.Hosts, s.addr)
	}
	g := connected(t, c)
	if m.load != nil {
		m.load(g)
	}
	if !m.skip {
		if err := g.Load(context.Background()); err != nil {
			return run, err
		}
	}
	var before []*service.Sample
	for _, s := range stores {
		before = append(before, s.service.Sample())
	}
	if m.lie != nil {
		m.lie(g, engines)
	}
	g.Secret = 7
	if err := g.measureOps(cmp.Or(m.ops, 60_000)); err != nil {
		return run, err
	}
	var window []*service.Sample
	for _, s := range stores {
		window = append(window, s.service.Sample())
	}
	record, err := g.Audit(context.Background())
	if err != nil {
		return run, err
	}
	if _, err := g.Latency().Collect(0, 1); err != nil {
		return run, err
	}
	if m.count != nil {
		m.count(g)
	}
	summary := g.Summary()
	run = metrics.Run{Workload: flagsOf(c), Nodes: []metrics.RunNode{{Name: c.Node, Role: metrics.Client, Summary: &summary,
		Config: &metrics.Config{Flags: map[string]string{"linearizable": fmt.Sprint(c.Linearizable)}}}}}
	for i, s := range stores {
		applied := s.service.Counts()[c.Node]
		run.Nodes = append(run.Nodes, metrics.RunNode{Name: s.name, Role: metrics.Server, Summary: &metrics.Summary{
			Total: applied, Peers: server.Peers(s.service),
			Seen: server.Seen(s.service, before[i], window[i]),
		}})
	}
	accounted(&run)
	run.Audit = verdict.JudgeAudit(run, fmt.Sprintf("%x", g.Secret), []metrics.AuditRecord{*record})
	return run, nil
}

// measureOps is Measure with a window that lasts until a number of operations are done.
func (g *Generator) measureOps(n uint64) error {
	if err := g.Draw(context.Background()); err != nil {
		return err
	}
	g.opened = time.Now()
	s := newSchedule()
	s.decide(g.opened, time.Time{}, g.edgeSlot())
	done := make(chan error, 1)
	until := g.Counts().Ops() + n
	go func() { done <- g.drive(context.Background(), g.opened, s) }()
	for poll := time.NewTicker(time.Millisecond); ; {
		select {
		case err := <-done:
			poll.Stop()
			return err
		case <-poll.C: // on a busy machine the tick is old
			if g.Counts().Ops() >= until {
				closes := time.Now().Add(20 * time.Millisecond) // no worker has gone as far
				g.length = closes.Sub(g.opened)
				s.decide(g.opened, closes, g.edgeSlot())
				if time.Now().Before(closes) { // else, on a busy machine, one may have
					until = math.MaxUint64
				}
			}
		}
	}
}

// trialOf is a small run with a seed.
func trialOf(seed uint64) Config {
	c := small()
	c.Workload.Records, c.Workload.Seed, c.Batch = 1000, seed, 50
	return c
}

// Every mistake is found in every run, and the verdict names it.
func TestMistakesAreNamed(t *testing.T) {
	for _, m := range slices.Concat(mistakes(), rareMistakes()) {
		t.Run(m.name, func(t *testing.T) {
			times := runs()
			if m.ops > few {
				times = 10
			}
			for seed := range uint64(times) {
				v := judged(t, trialOf(seed), m)
				if v.Valid || !slices.ContainsFunc(strings.Split(m.want, "|"), func(want string) bool { return strings.Contains(v.Reason, want) }) {
					t.Errorf("seed %d: verdict %s; want %q", seed, v, m.want)
				}
			}
		})
	}
}

// An honest run is VALID with any workload, router and values.
func TestHonestRunsAreValid(t *testing.T) {
	for seed := range uint64(max(4, 2*runs())) {
		random := rand.New(rand.NewPCG(seed, 0))
		pick := func(of ...string) string { return of[random.IntN(len(of))] }
		c := trialOf(seed)
		c.Workload.Workload = pick(workload.YCSBA, workload.YCSBB, workload.YCSBC, workload.YCSBF)
		c.Workload.Distribution = pick("", workload.Uniform, workload.Latest, workload.Hotspot, workload.Sequential)
		c.Workload.Zipfian = pick(workload.ZipfianYCSB, workload.ZipfianExact)
		c.Workload.Theta = []float64{0.5, 0.99, 1.5}[random.IntN(3)]
		c.Router, c.Codec = pick(route.Names...), pick(wire.Codecs...)
		_ = c.ValueSize.Set(pick("24", "25", "100", "5000", "24-1024", "etc"))
		_ = c.KeySize.Set(pick("", "", "16-40", "etc"))
		vary(&c, random)
		if v := judged(t, c, mistake{engine: func() kvs.Engine { return engine.NewSyncMap() }}); !v.Valid {
			t.Errorf("seed %d: verdict %s of %+v", seed, v, c)
		}
	}
}

// tooFast offers more operations than a slow machine makes: the drain of the others ends with
// the time of a call.
func tooFast(c *Config) { c.Rate.OpsPerS, c.CallTimeout = 200_000, 10*time.Second }

// vary sets some of the flags that change how a run's operations are sent.
func vary(c *Config, random *rand.Rand) {
	half := func() bool { return random.IntN(2) == 0 }
	switch random.IntN(4) {
	case 0:
		c.AutoBatch, c.TargetLatency = true, DefaultTargetLatency
	case 1:
		tooFast(c)
	case 2:
		c.InFlight = 3
	}
	c.Linearizable = half()
	c.Workload.Scramble = half() && c.Workload.Distribution != workload.Sequential
	c.Connections = random.IntN(c.Workers + 1)
	c.KeyPrefix = []string{"", "user"}[random.IntN(2)]
	if c.Codec == "binary" {
		c.CRC, c.Dedup, c.Retry = half(), half(), half()
		c.Cached = []cache.Size{0, 0, 1 << 20, cache.All}[random.IntN(4)]
	}
}

// A run with -verify none is not VALID, and its load is checked all the same.
func TestVerifyNone(t *testing.T) {
	c := trialOf(3)
	c.Verify = VerifyNone
	run, err := trial(t, c, mistake{})
	if err != nil {
		t.Fatal(err)
	}
	v := run.Nodes[0].Summary.Verification
	if got := verdict.Judge(&run); got.Valid || !strings.Contains(got.Reason, "values were not checked at all (-verify none)") {
		t.Errorf("verdict %s", got)
	}
	if total := run.Nodes[0].Summary.Total; v.Checked != c.Workload.Records || v.Unchecked != total.Hits-v.Checked || v.Unchecked == 0 {
		t.Errorf("%d values checked, %d not, of %d hits", v.Checked, v.Unchecked, total.Hits)
	}
}

// flagsOf are the flags of a run's work, as the launcher records them.
func flagsOf(c Config) map[string]string {
	flags := map[string]string{"router": c.Router, "key-prefix": c.KeyPrefix, "inflight": fmt.Sprint(c.InFlight), "value-size": c.ValueSize.String(), "key-size": c.KeySize.String(),
		"batch": fmt.Sprint(c.Batch), "arrivals": c.Arrivals, "rate": c.Rate.String(), "dedup": fmt.Sprint(c.Dedup), "cache": c.Cached.String(),
		"codec": c.Codec, "connections": fmt.Sprint(c.Connections), "crc": fmt.Sprint(c.CRC), "retry": fmt.Sprint(c.Retry)}
	if c.AutoBatch {
		flags["batch"] = "auto"
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Workload.Define(fs)
	fs.VisitAll(func(f *flag.Flag) { flags[f.Name] = f.Value.String() })
	return flags
}
