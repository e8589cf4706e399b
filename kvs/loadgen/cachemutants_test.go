package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"kvlab/internal/faultproxy"
	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/driver"
	"kvlab/kvs/engine/enginetest"
	"kvlab/metrics"
	"kvlab/workload"
)

// version is a value with its version.
type version struct {
	value  []byte
	number kvs.Version
}

// The mistakes of a client with a cache.
const (
	fillsInNow    = "the entry of now, in place of the one that was held"
	agesValues    = "an older value under a newer version"
	mixesEntries  = "an entry of another key"
	digestsAll    = "the client's digest is of all that it holds"
	believesStale = "what it held, whatever is current"
)

// wrongCache is a client's cache, with a mistake or with none.
type wrongCache struct {
	mistake string
	mu      sync.Mutex
	entries map[string]version // guarded by mu
}

// cachedConn is a connection with a wrongCache over one of wire.Features.Cache.
type cachedConn struct {
	driver.Conn
	cache *wrongCache
}

type cachedCall struct {
	call  kvs.Call
	batch kvs.Batch
	reply kvs.Reply
	held  []version // by operation
}

// slot names the entry of a key.
func (c *wrongCache) slot(key []byte) string {
	if c.mistake == mixesEntries {
		return string(key[len(key)-1:])
	}
	return string(key)
}

func (c *wrongCache) keep(key, value []byte, number kvs.Version) {
	was := c.entries[c.slot(key)]
	switch {
	case c.mistake == agesValues:
		c.entries[c.slot(key)] = version{bytes.Clone(value), max(number, was.number)}
	case number > was.number, c.mistake == mixesEntries:
		c.entries[c.slot(key)] = version{bytes.Clone(value), number}
	}
}

func (c cachedConn) Send(call *kvs.Call) {
	x, ok := call.State.(*cachedCall)
	if !ok {
		x = new(cachedCall)
		x.call.Batch, x.call.Reply = &x.batch, &x.reply
		call.State = x
	}
	x.batch.Reset()
	x.held = x.held[:0]
	c.cache.mu.Lock()
	for _, op := range ops(call.Batch) {
		held := c.cache.entries[c.cache.slot(op.Key)]
		x.held = append(x.held, held)
		x.batch.AppendCompact(&op, held.number)
	}
	c.cache.mu.Unlock()
	c.Conn.Send(&x.call)
}

func (c cachedConn) Wait(call *kvs.Call) error {
	x := call.State.(*cachedCall)
	if err := c.Conn.Wait(&x.call); err != nil {
		return err
	}
	results, claimed, err := x.reply.Versions()
	if err != nil {
		return err
	}
	c.cache.mu.Lock()
	defer c.cache.mu.Unlock()
	call.Reply.Reset()
	digest := uint64(0)
	for i, op := range ops(call.Batch) {
		result, number, err := results.NextVersion(op.Kind)
		if err != nil {
			return err
		}
		unchanged := op.Kind.Reads() && !result.Read
		if unchanged || c.cache.mistake == digestsAll && x.held[i].number > 0 {
			digest += kvs.Digest(op.Key, x.held[i].number)
		}
		c.fill(op, result, x.held[i], call.Reply)
		switch {
		case op.Kind.Writes() && op.Kind != kvs.Delete:
			c.cache.keep(op.Key, op.Value, number)
		case result.Found:
			c.cache.keep(op.Key, result.Value, number)
		}
	}
	if digest != claimed {
		return errors.New("another digest")
	}
	x.reply.Free()
	return nil
}

// fill appends the result of an operation to a plain reply.
func (c cachedConn) fill(op kvs.Op, result kvs.Result, held version, reply *kvs.Reply) {
	switch {
	case result.Found && c.cache.mistake == believesStale && held.number > 0 && rand.IntN(100) == 0:
		reply.Found(held.value)
	case result.Found:
		reply.Found(result.Value)
	case result.Read:
		reply.Missing()
	case !op.Kind.Reads():
		reply.Answer(op.Kind, nil, true)
	case c.cache.mistake == fillsInNow:
		reply.Found(c.cache.entries[string(op.Key)].value)
	default:
		reply.Found(held.value)
	}
}

// Stores whose versions are wrong, and clients whose caches are, are caught in every run: by
// the digest, by the check of a value, or as not linearizable. Those without a mistake are
// not. Some runs have connections that are cut, whose calls are sent again. With
// KVLAB_LONG=1 each has 20 seeds.
func TestCacheMutants(t *testing.T) {
	const illegal, otherKey = "check: not linearizable", "the value of another key"
	type cacheMutant struct {
		server, client string // mistakes; "" for none, and the client of kvs/cache
		cuts           bool
		want           string // one of; "" for none
	}
	tests := []cacheMutant{
		{}, {cuts: true}, {client: "none"}, {client: "none", cuts: true},
		{client: fillsInNow, want: illegal}, {client: fillsInNow, cuts: true, want: illegal},
		{client: agesValues, want: illegal}, {client: agesValues, cuts: true, want: illegal},
		{client: believesStale, want: illegal}, {client: believesStale, cuts: true, want: illegal},
		{client: mixesEntries, want: otherKey + "|another digest"},
		{client: digestsAll, want: "another digest"},
	}
	for _, wrong := range enginetest.VersionMutants {
		tests = append(tests, cacheMutant{server: wrong, want: illegal + "|" + otherKey + "|" + cache.ErrDigest.Error()})
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("server %q, client %q, cuts %t", test.server, test.client, test.cuts), func(t *testing.T) {
			for range max(2, seeds()) {
				seed := rand.Uint64()
				got := catcher(cacheRun(t, seed, test.server, test.client, test.cuts))
				t.Logf("seed %d: %.200s", seed, got)
				if got != "" != (test.want != "") || !containsOne(got, test.want) {
					t.Errorf("seed %d: caught by %q, want %q", seed, got, test.want)
				}
			}
		})
	}
}

// cacheRun runs a client with a cache until something catches it.
func cacheRun(t *testing.T, seed uint64, server, client string, cuts bool) (metrics.Summary, error) {
	t.Helper()
	c := checked()
	c.Workload.Seed, c.CRC, c.Retry, c.InFlight = seed, true, cuts, 2
	c.Batch = 20 // with few writes, so that what a client holds is often current
	mixed(&c, 0.85, workload.StandardMix, 0.03, workload.StandardMix)
	c.Workload.ReadModifyWrites = 0.1
	e := &serial{Engine: enginetest.NewVersionMutant(server, rand.New(rand.NewPCG(seed, 0)))}
	if c.Cached = cache.All; client != "" {
		c.Cached, c.Cache, c.Dedup = 0, true, true
	}
	c.Hosts = []string{newStore(t, "server0", c.Codec, e).addr}
	if cuts {
		c.Hosts[0] = cutting(t, c.Hosts[0], seed).Addr()
	}
	g := connected(t, c)
	if client != "" {
		shared := &wrongCache{mistake: client, entries: make(map[string]version)}
		everyConn(func(_ *worker, conn driver.Conn) driver.Conn { return cachedConn{conn, shared} })(g)
	}
	if err := g.Load(context.Background()); err != nil {
		return g.Summary(), err
	}
	honest := server == "" && (client == "" || client == "none")
	for {
		err := g.Measure(context.Background(), func(metrics.Phase) error { return nil })
		if s := g.Summary(); catcher(s, err) != "" || s.Check.Ops > mutantOps || honest && s.Check.Ops > 0 {
			return s, err
		}
	}
}

// cutting is a proxy that cuts each connection at a random byte.
func cutting(t *testing.T, addr string, seed uint64) *faultproxy.Proxy {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return faultproxy.Start(t, addr, func(int) []faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		return []faultproxy.Fault{{Kind: faultproxy.Cut, Way: faultproxy.Way(rng.IntN(2)), At: 2000 + rng.Int64N(60_000)}}
	})
}
