package loadgen

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/verdict"
	"kvlab/kvs/wire"
	"kvlab/metrics"
	"kvlab/workload"
)

// process is the engine of a server's process. Once it has a limit, it applies so many
// operations, and then none: the calls after them wait for its end.
type process struct {
	kvs.Engine
	old  kvs.Engine    // has the first half of these operations; nil: none is kept
	full chan struct{} // closed when a call waits
	dead chan struct{} // closed at the end

	mu     sync.Mutex
	limit  int // 0: none; guarded by mu
	served int // operations since there is one; guarded by mu
}

func newProcess(store, old kvs.Engine) *process {
	return &process{Engine: store, old: old, full: make(chan struct{}), dead: make(chan struct{})}
}

func (p *process) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if p.admit(ops, reply) {
		return
	}
	<-p.dead
}

// admit applies operations, unless they are over the limit.
func (p *process) admit(ops []kvs.Op, reply *kvs.Reply) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit > 0 {
		before := p.served
		if p.served += len(ops); p.served > p.limit {
			if before <= p.limit {
				close(p.full)
			}
			return false
		}
	}
	p.Engine.Apply(ops, reply)
	if p.old != nil && p.served <= p.limit/2 {
		p.old.Apply(ops, new(kvs.Reply))
	}
	return true
}

// setLimit sets the number of operations that the process still applies.
func (p *process) setLimit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = n
}

// restartable is a server whose process ends, and is followed by another one.
type restartable struct {
	*wiretest.Server
	first *process

	mu      sync.Mutex
	service *service.Service // of the process; guarded by mu
}

func newRestartable(t *testing.T, name string, first *process) *restartable {
	t.Helper()
	model, err := server.OpenModel("conn")
	if err != nil {
		t.Fatal(err)
	}
	s := &restartable{first: first, service: service.New(first)}
	s.Server = wiretest.Start(t, func(conn net.Conn) {
		_ = server.Serve(conn, wire.Options{Hello: wire.Hello{Node: name, Codec: "binary"}}, s.running(), model)
	})
	return s
}

func (s *restartable) running() *service.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.service
}

// kill ends the first process, in which a call waits, and returns what it has counted. The
// second one has a store.
func (s *restartable) kill(store kvs.Engine) map[string]metrics.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.service
	s.service = service.New(store)
	s.service.Continue(first.Instance())
	s.Cut() // before any call that is not applied is answered
	close(s.first.dead)
	return first.Counts()
}

// killedRun returns a run on two servers, of which the first is killed in the window. Its second
// process has the store, or an old copy of it.
func killedRun(t *testing.T, c Config, old bool) metrics.Run {
	t.Helper()
	store := engine.NewMutex()
	first := newProcess(store, nil)
	if old {
		first.old = engine.NewMutex()
	}
	killed, other := newRestartable(t, "server0", first), newStore(t, "server1", "binary", engine.NewMutex())
	c.Hosts, c.Retry, c.CallTimeout = []string{killed.Addr().String(), other.addr}, true, time.Minute
	ctx := context.Background()
	g := connected(t, c)
	if err := g.Load(ctx); err != nil {
		t.Fatal(err)
	}
	before := other.service.Sample()
	g.Secret = 7
	first.setLimit(15_000)
	done := make(chan error, 1)
	go func() { done <- g.measureOps(60_000) }()
	within(t, "the first process", func() error { <-first.full; return nil })
	second := kvs.Engine(store)
	if old {
		second = first.old
	}
	reported := killed.kill(second)[c.Node]
	if err := within(t, "the run", func() error { return <-done }); err != nil {
		t.Fatal(err)
	}
	samples := []*service.Sample{killed.running().Sample(), other.service.Sample()}
	run, err := recordOf(c, g, []*service.Service{killed.running(), other.service}, []*service.Sample{nil, before}, samples,
		&metrics.Restart{Server: "server0", Reported: reported, Unreported: metrics.Counts{Gets: 2000, Puts: 2000, ReadModifyWrites: 2000}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A run goes on when a server's process is killed and another one takes its place. Each
// operation was verified once or has an unknown outcome, and every check holds. The run is
// INVALID if nobody asked for it.
func TestServerReplaced(t *testing.T) {
	for seed := range uint64(max(2, runs())) {
		c := trialOf(seed)
		c.Workload.Workload = []string{workload.YCSBF, workload.YCSBA}[seed%2]
		c.Workers, c.Connections, c.InFlight, c.Linearizable = 6, 3, 1+int(seed%2), true
		run := killedRun(t, c, false)
		v := verdict.Judge(&run)
		client := run.Nodes[0].Summary
		unknown := client.Peers[0].Unknown
		if !v.Valid || run.Counting != metrics.CountsBounded {
			t.Errorf("seed %d: verdict %s, counts %s", seed, v, run.Counting)
		}
		if unknown.Calls == 0 || unknown.Ops() == 0 || client.Peers[1].Unknown.Ops() > 0 || client.Peers[0].FirstReply.IsZero() || !client.Peers[1].FirstReply.IsZero() {
			t.Errorf("seed %d: unknown outcomes of the two servers %+v and %+v, first replies at %s and %s", seed, unknown, client.Peers[1].Unknown, client.Peers[0].FirstReply, client.Peers[1].FirstReply)
		}
		if run.Audit == nil || run.Audit.Failures > 0 || run.Audit.Written == 0 || client.Check == nil || client.Check.Ops == 0 {
			t.Errorf("seed %d: audit %+v, check %+v", seed, run.Audit, client.Check)
		}
		run.Restart = nil
		if v := verdict.Judge(&run); v.Valid || !strings.Contains(v.Reason, "--restart-at did not ask for it") {
			t.Errorf("seed %d: without --restart-at: verdict %s", seed, v)
		}
	}
}

// A server that comes back with an older store makes the run INVALID, though most of the keys
// whose writes are lost are written again before the audit.
func TestServerReplacedByOldStore(t *testing.T) {
	for seed := range uint64(max(3, runs())) {
		c := trialOf(seed)
		c.Workload.Workload, c.Workers = workload.YCSBA, 1 // which finds only its own old values, for certain
		run := killedRun(t, c, true)
		if v := verdict.Judge(&run); v.Valid || !strings.Contains(v.Reason, "write is lost") {
			t.Errorf("seed %d: verdict %s", seed, v)
		} else if seed == 0 {
			t.Logf("verdict %s", v)
		}
	}
}

// An operation of unknown outcome ends a run that inserts or scans, and a load.
func TestServerReplacedRefused(t *testing.T) {
	for _, name := range []string{workload.YCSBD, workload.YCSBE, "load"} {
		var store kvs.Engine = engine.NewMutex()
		if strings.Contains(name, "E") {
			store = opened(t, "btree")
		}
		first := newProcess(store, nil)
		s := newRestartable(t, "server0", first)
		c := trialOf(1)
		c.Hosts, c.Retry, c.CallTimeout, c.Window = []string{s.Addr().String()}, true, time.Minute, time.Hour
		if name != "load" {
			c.Workload.Workload = name
		}
		g := connected(t, c)
		if name == "load" {
			first.setLimit(100)
		} else if err := g.Load(context.Background()); err != nil {
			t.Fatal(err)
		}
		first.setLimit(500)
		go func() { <-first.full; s.kill(store) }()
		err := within(t, "the run", func() error {
			if name == "load" {
				return g.Load(context.Background())
			}
			return g.Measure(context.Background(), func(metrics.Phase) error { return nil })
		})
		if err == nil || !strings.Contains(err.Error(), wire.ErrUnknown.Error()) {
			t.Errorf("%s: error %v, want %q", name, err, wire.ErrUnknown)
		}
	}
}
