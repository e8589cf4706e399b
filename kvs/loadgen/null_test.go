package loadgen

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics"
	"kvlab/workload"
	"kvlab/workload/size"
)

// shorten is an engine that cuts a byte from every 50th result of a call.
type shorten struct {
	kvs.Engine
}

func (s shorten) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for i := range ops {
		if ops[i].Kind != kvs.Get || i%50 != 49 {
			s.Engine.Apply(ops[i:i+1], reply)
			continue
		}
		reply.Found(make([]byte, 31))
	}
}

// A server without a store passes the load and every check except that of the values'
// keys, if and only if it declares that it has no store. A client that repeats its first
// rounds checks none of their replies, and counts a scan once.
func TestNullServer(t *testing.T) {
	for _, test := range []struct {
		name   string
		engine kvs.Engine // nil: a run in process
		null   bool
		change func(*Config)
		want   string // in the error
	}{
		{"says so", engine.NewNull(), true, func(*Config) {}, ""},
		{"inserts", engine.NewNull(), true, func(c *Config) { c.Workload.Workload = workload.YCSBD }, ""},
		{"scans", engine.NewNull(), true, func(c *Config) { c.Workload.Workload = workload.YCSBE }, ""},
		{"in process", nil, true, func(*Config) {}, ""},
		{"repeats scans", engine.NewNull(), true, func(c *Config) { c.Workload.Workload, c.Repeat, c.Workers, c.Batch = workload.YCSBE, true, 1, 50 }, ""},
		{"says nothing", engine.NewNull(), false, func(*Config) {}, "the value of another key"},
		{"answers with the wrong size", shorten{engine.NewNull()}, true, func(*Config) {}, "a value of 31 bytes, want 32"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := DefaultConfig()
			c.Workload.Records, c.Workers, c.Batch, c.ValueSize = 10_000, 2, 500, size.Constant(32)
			test.change(&c)
			if test.engine == nil {
				c.Transport, c.Engine, c.Hosts = driver.InProcess, "null", nil
			} else {
				c.Hosts = nil
				for range 3 {
					c.Hosts = append(c.Hosts, serve(t, service.New(test.engine), wire.Options{Hello: wire.Hello{Node: "s", Codec: c.Codec, Null: test.null}}))
				}
			}
			summary, err := runAll(t, c)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Fatalf("error %v, want one with %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			n, v := opsAfterLoad(summary), summary.Verification
			if n == 0 || summary.Total.Misses != 0 || v.Failures != 0 || v.AnyKey != v.Checked {
				t.Errorf("counts %+v, verification %+v: want all checked against any key", summary, v)
			}
			if c.Repeat {
				if n%150 != 0 {
					t.Errorf("%d operations: want whole rounds of 150", n)
				}
			} else if v.Checked == 0 || v.Compared == 0 {
				t.Errorf("verification %+v: want some checked", v)
			}
			if load := summary.Peers[0].Load; test.engine == nil && (load.Puts != 2*nullLoad || load.Hits != load.Puts) {
				t.Errorf("loaded %+v: want no more than the beginning of each worker's share", load)
			}
		})
	}
}

// serve answers connections on loopback until the test ends.
func serve(t *testing.T, service *service.Service, id wire.Options) string {
	t.Helper()
	return wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, id, service, server.PerConn) }).Addr().String()
}

// runAll returns a whole run whose window has some operations.
func runAll(t *testing.T, c Config) (metrics.Summary, error) {
	t.Helper()
	ctx := context.Background()
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	if err := g.Load(ctx); err != nil {
		return metrics.Summary{}, err
	}
	err = g.measureOps(1000)
	return g.Summary(), err
}

// Deduplication would send the one value of all keys once: such replies are refused.
func TestNullIsNotCoalesced(t *testing.T) {
	c := DefaultConfig()
	c.Workers, c.Dedup = 1, true
	c.Hosts = []string{serve(t, service.New(engine.NewNull()), wire.Options{Hello: wire.Hello{Node: "s", Codec: c.Codec, Null: true}})}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Connect(context.Background()); !errors.Is(err, wire.ErrRefused) || !strings.Contains(err.Error(), "-dedup") {
		t.Errorf("error %v, want one that names -dedup", err)
	}
	c.Transport, c.Engine = driver.InProcess, "null"
	if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), "-dedup: ") {
		t.Errorf("in process: error %v, want one that names -dedup", err)
	}
}
