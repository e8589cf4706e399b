package cache_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// engines are those with versions.
var engines = []string{"syncmap", "slab"}

// serve starts a server over an engine, and returns how to connect to it.
func serve(t testing.TB, name string) func(wire.Features) *wire.Client {
	t.Helper()
	e, err := engine.Open(name, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(e)
	addr := wiretest.Start(t, func(conn net.Conn) {
		_ = server.Serve(conn, wire.Options{Hello: wire.Hello{Node: "server0", Codec: wire.Codecs[0]}}, s, server.PerConn)
	}).Addr().String()
	return func(f wire.Features) *wire.Client {
		client, _, err := wire.Dial(t.Context(), addr, wire.Options{Hello: wire.Hello{Node: "client0", Codec: wire.Codecs[0], Features: f}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		return client
	}
}

var cached = wire.Features{Cache: true, Dedup: true}

// conn is a connection with a cache or without.
type conn interface {
	Send(*kvs.Call)
	Wait(*kvs.Call) error
}

// newCall returns a call of operations.
func newCall(ops []kvs.Op) *kvs.Call {
	call := &kvs.Call{Batch: new(kvs.Batch), Reply: new(kvs.Reply)}
	kvstest.Fill(call.Batch, ops)
	return call
}

// do makes a call of operations, and returns copies of its results.
func do(t testing.TB, c conn, ops ...kvs.Op) []kvs.Result {
	t.Helper()
	call := newCall(ops)
	c.Send(call)
	return done(t, c, call)
}

// done waits for a sent call, and returns copies of its results.
func done(t testing.TB, c conn, call *kvs.Call) []kvs.Result {
	t.Helper()
	if err := c.Wait(call); err != nil {
		t.Fatal(err)
	}
	return results(t, call.Reply)
}

func results(t testing.TB, reply *kvs.Reply) []kvs.Result {
	t.Helper()
	all, err := kvstest.DecodeReply(reply)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Value = bytes.Clone(all[i].Value)
	}
	return all
}

func same(a, b kvs.Result) bool {
	return a.Found == b.Found && a.Read == b.Read && bytes.Equal(a.Value, b.Value)
}

// randomOps returns n operations on few keys, some of which are numbers.
func randomOps(random *rand.Rand, n int) []kvs.Op {
	ops := kvstest.RandomOps(random, n, kvs.Scan)
	for i := range ops {
		id := random.IntN(60)
		ops[i].Key = fmt.Appendf(nil, "%s%d", []string{"", "user", "0", strings.Repeat("long", 50)}[id%4], id)
		if len(ops[i].Value) > 5000 {
			ops[i].Value = ops[i].Value[:5000]
		}
	}
	return ops
}

// The results of batches of all kinds are those of a store without versions, while clients
// write in turn: workers with one cache, a client with another one, one with a small one, and
// one without. The replies' hits and misses are right too.
func TestConnAgrees(t *testing.T) {
	random := kvstest.NewRandom(t)
	for _, name := range engines {
		for _, f := range []wire.Features{{Cache: true}, {Cache: true, Dedup: true}, {Cache: true, Dedup: true, CRC: true}} {
			t.Run(fmt.Sprintf("%s %+v", name, f), func(t *testing.T) {
				dial := serve(t, name)
				all, most := cache.NewStore(1000, 5000), cache.NewStore(1000, 100)
				conns := []conn{all.Over(dial(f)), all.Over(dial(f)), most.Over(dial(f)), cache.NewStore(1, 300).Over(dial(f)), dial(wire.Features{})}
				near := service.New(engine.NewMutex()).Open("near")
				call := newCall(nil)
				for range 150 {
					ops := randomOps(random, random.IntN(120))
					call.Batch.Reset()
					kvstest.Fill(call.Batch, ops)
					var want kvs.Reply
					if err := near.BatchPutGet(call.Batch, &want); err != nil {
						t.Fatal(err)
					}
					at := random.IntN(len(conns))
					call.State = nil
					conns[at].Send(call)
					got, wanted := done(t, conns[at], call), results(t, &want)
					if !slices.EqualFunc(got, wanted, same) || call.Reply.Hits != want.Hits && at < 4 || call.Reply.Misses != want.Misses && at < 4 {
						t.Fatalf("connection %d: %d results, %d hits, %d misses of %d operations are not those of a plain store, %d hits, %d misses",
							at, len(got), call.Reply.Hits, call.Reply.Misses, len(ops), want.Hits, want.Misses)
					}
					call.Reply.Free()
				}
			})
		}
	}
}

// A value that the client holds is not sent again, and one that another client has written
// since is.
func TestConnSaves(t *testing.T) {
	for _, name := range engines {
		dial := serve(t, name)
		one, other := cache.NewStore(10, 1000).Over(dial(cached)), cache.NewStore(10, 1000).Over(dial(cached))
		value := make([]byte, 1000)
		read := func(c conn) int {
			call := newCall([]kvs.Op{{Kind: kvs.Get, Key: []byte("7")}})
			c.Send(call)
			if got := done(t, c, call); !bytes.Equal(got[0].Value, value) {
				t.Fatalf("%s: another value", name)
			}
			return call.Received
		}
		for _, kind := range []kvs.Kind{kvs.Insert, kvs.Put, kvs.ReadModifyWrite} {
			value[0]++
			do(t, one, kvs.Op{Kind: kind, Key: []byte("7"), Value: value})
			for i, want := range []bool{false, true, false, false} {
				c := []conn{one, other, other, one}[i]
				if size := read(c); want != (size > len(value)) || !want && size > 12 {
					t.Errorf("%s: after a %s, read %d has a reply of %d bytes", name, kind, i, size)
				}
			}
		}
	}
}

// A call's unchanged values are those that the client held when it sent the call, even if
// another worker has replaced or evicted them before Wait.
func TestConnKeepsWhatItHeld(t *testing.T) {
	get, put := kvs.Op{Kind: kvs.Get, Key: []byte("7")}, func(value string) kvs.Op {
		return kvs.Op{Kind: kvs.Put, Key: []byte("7"), Value: []byte(value)}
	}
	for _, name := range engines {
		c := cache.NewStore(1, 100).Over(serve(t, name)(cached)) // the server executes the calls of one connection in order
		do(t, c, put("first"))
		read, write, read2 := newCall([]kvs.Op{get, get}), newCall([]kvs.Op{put("the second")}), newCall([]kvs.Op{get, put("third"), get})
		for _, call := range []*kvs.Call{read, write, read2} {
			c.Send(call)
		}
		for id := range 100 {
			do(t, c, kvs.Op{Kind: kvs.Put, Key: fmt.Append(nil, 100+id), Value: make([]byte, 100)})
		}
		if got := done(t, c, read2); string(got[0].Value) != "the second" || string(got[2].Value) != "third" {
			t.Errorf("%s: the call behind the write reads %q and %q", name, got[0].Value, got[2].Value)
		}
		done(t, c, write)
		if got := done(t, c, read); string(got[0].Value) != "first" || string(got[1].Value) != "first" {
			t.Errorf("%s: the call before the write reads %q and %q", name, got[0].Value, got[1].Value)
		}
		if got := do(t, c, get); string(got[0].Value) != "third" {
			t.Errorf("%s: later the key has %q", name, got[0].Value)
		}
	}
}

// Workers that share a connection, a store and half of the keys, with calls in flight, read
// their own last writes, and of the shared keys no value before the last one that they have read.
func TestConnShared(t *testing.T) {
	random := kvstest.NewRandom(t)
	for _, name := range engines {
		dial := serve(t, name)
		store := cache.NewStore(64, 60)
		shared := store.Over(dial(cached))
		var running sync.WaitGroup
		for w := range 6 {
			c, random := shared, rand.New(rand.NewPCG(random.Uint64(), 0))
			if w >= 4 {
				c = store.Over(dial(cached))
			}
			running.Go(func() { work(t, c, w, random) })
		}
		running.Wait()
	}
}

// work makes calls, up to four in flight, which read any key, and write the worker's own:
// every sixth. A value is the number of the write, which grows.
func work(t *testing.T, c conn, worker int, random *rand.Rand) {
	const keys = 48
	type sent struct {
		call *kvs.Call
		ops  []kvs.Op
	}
	var last [keys]int // the number that was read last, or written
	var under []sent
	next := 0
	receive := func() {
		first := under[0]
		under = under[1:]
		if err := c.Wait(first.call); err != nil {
			t.Error(err)
			return
		}
		for i, r := range results(t, first.call.Reply) {
			id, was := decimal(first.ops[i].Key), decimal(r.Value)
			switch own := id%6 == worker; {
			case r.Read && was < last[id], own && first.ops[i].Kind.Reads() && was != last[id]:
				t.Errorf("worker %d reads %d of key %d after %d", worker, was, id, last[id])
			case first.ops[i].Kind.Writes():
				last[id] = decimal(first.ops[i].Value)
			case r.Read:
				last[id] = was
			}
		}
	}
	for range 300 {
		s := sent{ops: make([]kvs.Op, 1+random.IntN(80))}
		for i := range s.ops {
			id := random.IntN(keys)
			s.ops[i] = kvs.Op{Kind: kvs.Get, Key: fmt.Append(nil, id)}
			if id%6 == worker && random.IntN(2) == 0 {
				next++
				s.ops[i].Kind, s.ops[i].Value = []kvs.Kind{kvs.Put, kvs.Insert, kvs.ReadModifyWrite}[random.IntN(3)], fmt.Appendf(nil, "%0*d", 9+random.IntN(50), next)
			}
		}
		s.call = newCall(s.ops)
		c.Send(s.call)
		if under = append(under, s); len(under) == 4 {
			receive()
		}
	}
	for len(under) > 0 {
		receive()
	}
}

// decimal returns the number that digits say; 0 for none.
func decimal(digits []byte) int {
	n, _ := strconv.Atoi(string(digits))
	return n
}

// inner is a connection whose server is a function.
type inner struct {
	answer func(batch *kvs.Batch, reply *kvs.Reply)
}

func (i *inner) Send(*kvs.Call) {}
func (i *inner) Close() error   { return nil }
func (i *inner) Wait(call *kvs.Call) error {
	call.Reply.Reset()
	i.answer(call.Batch, call.Reply)
	return nil
}

// A reply that the client cannot believe is an error.
func TestConnDisbelieves(t *testing.T) {
	versioned := func(held kvs.Version, write func(*kvs.Reply)) func(*kvs.Batch, *kvs.Reply) {
		return func(_ *kvs.Batch, r *kvs.Reply) {
			r.AddVersions()
			r.Hold(slices.Repeat([]kvs.Version{held}, 8))
			write(r)
			r.EndVersions()
		}
	}
	key, long := []byte("7"), make([]byte, kvs.MaxValueLen)
	get := kvs.Op{Kind: kvs.Get, Key: key}
	rmw := kvs.Op{Kind: kvs.ReadModifyWrite, Key: key, Value: []byte("new")}
	tests := []struct {
		name   string
		ops    []kvs.Op
		answer func(*kvs.Batch, *kvs.Reply)
		want   string // "" for a reply to believe
	}{
		{"unchanged", []kvs.Op{get}, versioned(5, func(r *kvs.Reply) { r.FoundVersion(key, nil, 5) }), ""},
		{"unchanged, and written", []kvs.Op{rmw}, versioned(5, func(r *kvs.Reply) { r.AnswerVersion(kvs.ReadModifyWrite, key, nil, true, 5, 6) }), ""},
		{"unchanged at another version", []kvs.Op{get}, versioned(6, func(r *kvs.Reply) { r.FoundVersion(key, nil, 6) }), "a value was called unchanged, but is not the one that the client holds"},
		{"another key unchanged", []kvs.Op{get}, versioned(5, func(r *kvs.Reply) { r.FoundVersion([]byte("8"), nil, 5) }), "called unchanged, but is not"},
		{"unchanged, and the digest is of two", []kvs.Op{get, get}, versioned(5, func(r *kvs.Reply) { r.FoundVersion(key, nil, 5); r.FoundVersion([]byte("8"), nil, 5) }), "of the keys and versions of 2 values the server's digest is"},
		{"a digest of nothing", []kvs.Op{get}, func(_ *kvs.Batch, r *kvs.Reply) {
			r.AddVersions()
			r.Stored()
			r.EndVersions()
		}, "called unchanged, but is not"},
		{"unchanged, and nothing held", []kvs.Op{{Kind: kvs.Get, Key: []byte("8")}}, versioned(0, func(r *kvs.Reply) { r.Stored() }), `"8" is called unchanged, of which the client holds no value`},
		{"missing", []kvs.Op{get}, versioned(0, func(r *kvs.Reply) { r.Missing() }), ""},
		{"no digest", []kvs.Op{get}, func(_ *kvs.Batch, r *kvs.Reply) { r.Stored() }, "malformed reply: it has no digest"},
		{"no version", []kvs.Op{get}, versioned(0, func(r *kvs.Reply) { r.Found([]byte("x")) }), "malformed reply: a version is truncated"},
		{"a result too few", []kvs.Op{get, get}, versioned(5, func(r *kvs.Reply) { r.FoundVersion(key, nil, 5) }), "malformed reply: truncated"},
		{"a result too many", []kvs.Op{get}, versioned(5, func(r *kvs.Reply) { r.FoundVersion(key, nil, 5); r.Missing() }), "malformed reply: 1 results"},
		{"too large", slices.Repeat([]kvs.Op{get}, kvs.MaxBody/kvs.MaxValueLen+1), func(b *kvs.Batch, r *kvs.Reply) {
			r.Dedup(b.Len())
			versioned(0, func(r *kvs.Reply) {
				r.Hold(make([]kvs.Version, b.Len()))
				for range b.Len() {
					r.FoundVersion(key, long, 6)
				}
			})(b, r)
			r.EndDedup()
		}, "the reply is too large: at most 67108864 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fake := &inner{answer: versioned(0, func(r *kvs.Reply) { r.AnswerVersion(kvs.Put, key, nil, false, 0, 5) })}
			c := cache.NewStore(8, 100).Over(fake)
			do(t, c, kvs.Op{Kind: kvs.Put, Key: key, Value: []byte("held")})
			fake.answer = test.answer
			call := newCall(test.ops)
			c.Send(call)
			err := c.Wait(call)
			if test.want == "" {
				if err != nil || call.Reply.Len() != 1 {
					t.Errorf("%d results, %v", call.Reply.Len(), err)
				}
				return
			}
			if err == nil || call.Err != err || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if digest := strings.Contains(test.want, "digest is") || strings.Contains(test.want, "called unchanged, but"); errors.Is(err, cache.ErrDigest) != digest || errors.Is(err, kvs.ErrMalformed) == digest && !call.Reply.Excess {
				t.Errorf("error %v is of another kind", err)
			}
		})
	}
}
