package wire

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/metrics"
)

// again counts reconnects, and the calls that they send again.
type again struct{ connections, calls atomic.Uint64 }

func (a *again) add(calls int, _ error) {
	a.connections.Add(1)
	a.calls.Add(uint64(calls))
}

// sessionOptions are those of a client with -retry, for window calls in flight.
func sessionOptions(number, window int) Options {
	options := binaryOptions
	options.Retried, options.Retry = new(again).add, true
	options.CallTimeout, options.Lane = time.Minute, number
	options.Session = service.Session{Client: "0123456789abcdef", Number: number, Window: window, Keep: time.Minute}
	return options
}

// through returns a proxy before a server; plan says what happens to its n-th connection.
func (s *server) through(t *testing.T, plan func(conn int) []faultproxy.Fault) *faultproxy.Proxy {
	t.Helper()
	return faultproxy.Start(t, s.addr, plan)
}

func dial(t *testing.T, addr string, options Options) *Client {
	t.Helper()
	client, _, err := Dial(context.Background(), addr, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// counter is a key of one caller, who swaps its value for the next version and
// must be given the version before: a call that is applied twice, not at all or
// out of order gives another.
type counter struct {
	key     []byte
	version int
	batch   kvs.Batch
	reply   kvs.Reply
	call    kvs.Call
	body    [200]byte
}

// send sends the next swap, some reads of the same key behind it.
func (c *counter) send(client *Client) {
	c.batch.Reset()
	c.batch.Append(kvs.ReadModifyWrite, c.key, c.value(c.version+1))
	for range c.version % 5 {
		c.batch.Get(c.key)
	}
	c.call.Batch, c.call.Reply = &c.batch, &c.reply
	client.Send(&c.call)
}

func (c *counter) value(version int) []byte {
	clear(c.body[:])
	n := copy(c.body[:], fmt.Append(nil, version))
	return c.body[:max(n, version%len(c.body))]
}

// wait takes the reply in.
func (c *counter) wait(client *Client) error {
	if err := client.Wait(&c.call); err != nil {
		return err
	}
	results := c.reply.Results()
	for i := range c.batch.Len() {
		r, err := results.Next()
		if err != nil {
			return err
		}
		want := c.version
		if i > 0 {
			want++
		}
		if found := string(r.Value); r.Found != (want > 0) || r.Found && found != string(c.value(want)) {
			return fmt.Errorf("%s: operation %d of version %d finds %q", c.key, i, c.version, found)
		}
	}
	c.version++
	c.reply.Free()
	return results.End()
}

// cuts returns connections that end at random bytes, in order and not: before a
// request is whole, behind one that has been applied, within a reply, and from
// the second of a session on within the handshake. None of the first few breaks
// before the calls begin.
func cuts(rng *rand.Rand, lanes, longest int) func(conn int) []faultproxy.Fault {
	var mu sync.Mutex
	return func(conn int) []faultproxy.Fault {
		mu.Lock()
		defer mu.Unlock()
		at := rng.Int64N(int64(longest))
		if conn < lanes {
			at += 2000
		}
		kinds := []faultproxy.Kind{faultproxy.Cut, faultproxy.Truncate, faultproxy.Flip, faultproxy.Duplicate}
		return []faultproxy.Fault{{Kind: kinds[rng.IntN(len(kinds))], Way: faultproxy.Way(rng.IntN(2)), At: at, Len: 1 + rng.IntN(300), Bit: uint8(rng.IntN(8))}}
	}
}

// Whatever breaks connections at whatever moment, every batch is applied exactly
// once and in its order, and answered as it was then; the counts of both sides
// agree. KVLAB_LONG=1 makes 10^5 batches of 2,000.
func TestSessionApplyOnce(t *testing.T) {
	const lanes, sharers = 4, 3
	batches := 2000
	if os.Getenv("KVLAB_LONG") == "1" {
		batches = 100_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := startServer(t, binaryOptions, engine.NewMutex())
	proxy := s.through(t, cuts(rand.New(rand.NewPCG(seed, 0)), lanes, 12_000))
	var left atomic.Int64
	left.Store(int64(batches))
	again := new(again)
	var calling sync.WaitGroup
	var counters []*counter
	var clients []*Client
	for i := range lanes {
		options := sessionOptions(i, sharers)
		options.Retried, options.Shared, options.CRC = again.add, i%2 == 0, true
		clients = append(clients, dial(t, proxy.Addr(), options))
	}
	for i, client := range clients {
		for j := range sharers {
			c := &counter{key: fmt.Appendf(nil, "counter%d/%d", i, j)}
			counters = append(counters, c)
			calling.Go(func() {
				for left.Add(-1) >= 0 {
					c.send(client)
					if err := c.wait(client); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	calling.Wait()
	for _, client := range clients {
		client.Close()
	}
	poll(t, "a session outlives its client", func() bool { return s.service.Conns() == 0 })
	carried := make([]uint64, lanes)
	for i, c := range counters {
		for version := range c.version {
			carried[i/sharers] += uint64(1 + version%5) // see send
		}
	}
	if got := s.service.Sessions(binaryOptions.Node); len(got) != 1 || got[0].Protocol != (metrics.Protocol{Codec: "binary", CRC: true, Retry: true}) || !slices.Equal(got[0].Ops, carried) {
		t.Errorf("the connections, with those that replaced them, carried %+v, want %d", got, carried)
	}
	checkCounters(t, s, counters, batches)
	connections, remembered := s.service.Retries()
	t.Logf("%d batches: %d connections broke, %d calls were sent again, %d answered from the cache", batches,
		again.connections.Load(), again.calls.Load(), remembered)
	if sent := again.calls.Load(); remembered == 0 || remembered >= sent || connections < again.connections.Load() {
		t.Errorf("the server saw %d connections again; want calls of both kinds, applied before and not", connections)
	}
}

// checkCounters: the counters and the server's counts say that each batch was
// applied once.
func checkCounters(t *testing.T, s *server, counters []*counter, batches int) {
	t.Helper()
	versions := 0
	client := s.dial(t, binaryOptions)
	for _, c := range counters {
		versions += c.version
		c.batch.Reset()
		c.batch.Get(c.key)
		reply, err := call(client, &c.batch)
		if err != nil {
			t.Fatal(err)
		}
		results := reply.Results()
		if r, err := results.Next(); err != nil || string(r.Value) != string(c.value(c.version)) && c.version > 0 {
			t.Errorf("%s ends as %q, %v; want version %d", c.key, r.Value, err, c.version)
		}
	}
	if applied := s.service.Counts()[binaryOptions.Node].ReadModifyWrites; versions != batches || applied != uint64(batches) {
		t.Errorf("%d versions, and %d calls applied; want %d", versions, applied, batches)
	}
}

// Requests and replies that are larger than what the kernel takes, several under
// way at once, do not stand in each other's way when they are sent again.
func TestSessionSendsLargeCallsAgain(t *testing.T) {
	const window, size = 4, 2 << 20
	s := startServer(t, binaryOptions, engine.NewMutex())
	proxy := s.through(t, func(conn int) []faultproxy.Fault {
		if conn == 0 {
			return []faultproxy.Fault{{Kind: faultproxy.Cut, Way: faultproxy.ToClient, At: 3 << 20}}
		}
		return nil
	})
	options, again := sessionOptions(0, window), new(again)
	options.Retried = again.add
	client := dial(t, proxy.Addr(), options)
	var calling sync.WaitGroup
	for i := range window {
		calling.Go(func() {
			var batch kvs.Batch
			key := fmt.Append(nil, "key", i)
			for range size / kvs.MaxValueLen {
				batch.Append(kvs.Put, key, make([]byte, kvs.MaxValueLen))
				batch.Get(key)
			}
			for range 2 {
				if reply, err := call(client, &batch); err != nil || reply.Size() < size {
					t.Errorf("a reply of %d bytes, %v", reply.Size(), err)
				}
			}
		})
	}
	if err := within(t, "the calls", func() error { calling.Wait(); return nil }); err != nil || again.connections.Load() != 1 {
		t.Errorf("%v, %d connections again", err, again.connections.Load())
	}
}
