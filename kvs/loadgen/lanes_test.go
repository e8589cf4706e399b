package loadgen

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

func TestLanes(t *testing.T) {
	auto := func(c *Config) { c.AutoBatch, c.TargetLatency = true, time.Millisecond }
	tests := []struct {
		name   string
		change func(*Config)
		want   int
	}{
		{"large calls", func(*Config) {}, 64},
		{"one operation", func(c *Config) { c.Batch = 1 }, 4},
		{"one operation, 65 workers", func(c *Config) { c.Batch, c.Workers = 1, 65 }, 5},
		{"one operation, one worker", func(c *Config) { c.Batch, c.Workers = 1, 1 }, 1},
		{"still small", func(c *Config) { c.Batch, c.ValueSize = wire.MaxGroup/128, size.Constant(100) }, 4},
		{"not small", func(c *Config) { c.Batch, c.ValueSize = wire.MaxGroup/128+1, size.Constant(100) }, 64},
		{"one large operation", func(c *Config) { c.Batch, c.ValueSize = 1, size.Constant(kvs.MaxValueLen) }, 64},
		{"auto", auto, 4},
		{"said", func(c *Config) { c.Connections = 5 }, 5},
		{"said, one operation", func(c *Config) { c.Batch, c.Connections = 1, 64 }, 64},
		{"no network", func(c *Config) { c.Transport, c.Batch = driver.InProcess, 1 }, 64},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := DefaultConfig()
			test.change(&c)
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			plan, err := workload.New(c.Workload)
			if err != nil {
				t.Fatal(err)
			}
			if got, use := c.Conns(), c.use(plan, ""); got != test.want || use.Shared != (got < c.Workers) {
				t.Errorf("%d connections, shared %t; want %d", got, use.Shared, test.want)
			}
		})
	}
}

// For any number of shared connections and any batches, the operations that clients
// verified are those that servers applied, pair by pair, and the number of connections
// is the configured one.
func TestSharedCountsAgree(t *testing.T) {
	tests := []struct {
		codec       string
		connections int
		auto        bool
		batch       int
		inFlight    int
	}{
		{"binary", 1, false, 1, 1},
		{"binary", 2, false, 3, 3},
		{"binary", 5, false, 40, 2},
		{"binary", 3, true, 500, 1},
		{"binary", 1, true, 1, 4},
		{"gob", 2, true, 100, 2},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%+v", test), func(t *testing.T) {
			c := small()
			c.Workload.Workload, c.Workload.Records, c.Clients, c.Workers = workload.YCSBF, 1001, 2, 5
			c.Codec, c.Connections, c.Batch, c.InFlight = test.codec, test.connections, test.batch, test.inFlight
			if c.AutoBatch = test.auto; c.AutoBatch {
				c.TargetLatency = time.Millisecond
			}
			servers, clients, summaries := runOnStores(t, c, 2)
			for i, summary := range summaries {
				checkAgainst(t, clients[i].config.Node, summary, servers, false)
				checkDigests(t, clients[i], summary)
			}
			for _, s := range servers {
				if n := s.service.Conns(); n != c.Clients*test.connections {
					t.Errorf("%s: %d connections, want %d of each client", s.name, n, test.connections)
				}
			}
		})
	}
}

// When a shared connection is cut, all its workers fail, the error names the server, and
// no goroutine is left.
func TestSharedConnectionIsCut(t *testing.T) {
	for _, codec := range wire.Codecs {
		t.Run(codec, func(t *testing.T) {
			servers, hosts := newStores(t, 2, codec)
			c := small()
			c.Workers, c.Connections, c.InFlight, c.Batch, c.Hosts, c.Codec, c.Window = 16, 2, 2, 2, hosts, codec, time.Hour
			g := connected(t, c)
			if err := g.Load(context.Background()); err != nil {
				t.Fatal(err)
			}
			err := within(t, "Measure", func() error {
				return g.Measure(context.Background(), func(p metrics.Phase) error {
					if p == metrics.Window {
						servers[1].Cut()
					}
					return nil
				})
			})
			if err == nil || !strings.Contains(err.Error(), "to server server1: ") {
				t.Errorf("error %v, want one that names server1", err)
			}
		})
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

// The calls of each worker over a shared connection are applied in the order in
// which it drew their operations.
func TestSharedOrderIsKept(t *testing.T) {
	e := &calls{Engine: engine.NewMutex()}
	c := small()
	c.Workload.Workload, c.Workload.Distribution = workload.YCSBF, workload.Uniform
	c.Workers, c.Connections, c.InFlight, c.Batch = 8, 1, 4, 10
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
			op := nextOp(source)
			words = append(words, fmt.Sprintf("%s %d", kvs.Kind(op.Kind), op.Key))
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
