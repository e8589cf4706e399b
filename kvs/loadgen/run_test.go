package loadgen

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/metrics"
	"kvlab/workload"
)

// opsAfterLoad returns the number of operations after the load.
func opsAfterLoad(s metrics.Summary) uint64 {
	ops := s.Total.Ops()
	for _, peer := range s.Peers {
		ops -= peer.Load.Ops()
	}
	return ops
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
	if v := s.Verification; v.Failures != 0 || s.Total.Misses != 0 || len(s.Peers) != 1 || s.Peers[0].Counts != s.Total {
		t.Errorf("%+v, verification %+v, peers %+v", s.Total, v, s.Peers)
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

// calls records the operations of every call, in the order of a connection's calls.
type calls struct {
	kvs.Engine
	seen    [][]string
	writing atomic.Bool // set while Apply runs: one connection makes one call at a time
}

func (c *calls) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if !c.writing.CompareAndSwap(false, true) {
		panic("two calls of one connection at a time")
	}
	defer c.writing.Store(false)
	var words []string
	for _, op := range ops {
		words = append(words, op.Kind.String()+" "+string(op.Key))
	}
	c.seen = append(c.seen, words)
	c.Engine.Apply(ops, reply)
}

// The calls of each worker are applied in the order in which it drew their operations, with
// several rounds in flight and over a shared connection.
func TestOrderIsKept(t *testing.T) {
	for _, workers := range []int{1, 8} {
		e := &calls{Engine: engine.NewMutex()}
		c := small()
		c.Workload.Workload, c.Workload.Distribution, c.KeyPrefix = workload.YCSBF, workload.Uniform, "user"
		c.Workers, c.Connections, c.InFlight, c.Batch = workers, 1, 4, 10
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
		draw := func(source *workload.Source) (words []string) {
			for range c.Batch {
				var op [1]workload.Op
				source.Fill(op[:])
				words = append(words, fmt.Sprintf("%s user%d", kvs.Kind(op[0].Kind), op[0].Key))
			}
			return words
		}
		sources, next := make([]*workload.Source, c.Workers), make([][]string, c.Workers)
		for i := range sources {
			sources[i] = plan.Source(c.place(i))
			next[i] = draw(sources[i])
		}
		loaded := 0
		for i, call := range e.seen {
			if loaded < 2*int(c.Workload.Records) {
				loaded += len(call)
				continue
			}
			worker := slices.IndexFunc(next, func(due []string) bool { return slices.Equal(due, call) })
			if worker < 0 {
				t.Fatalf("call %d of %d is due of no worker: %s", i, len(e.seen), call)
			}
			next[worker] = draw(sources[worker])
		}
	}
}

// fixed returns a schedule whose window is decided.
func fixed(opens, closes time.Time) schedule {
	s := newSchedule()
	s.decide(opens, closes, metrics.EdgeSlot(closes.Sub(opens)))
	return s
}
