package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/wire/faultproxy"
)

// laneID is a client's whose connections are made again, for so many calls under way.
func laneID(number, window int) Identity {
	id := binaryID
	id.Retries = new(Retries)
	id.CallTimeout = time.Minute
	id.Lane = kvs.Lane{Client: "0123456789abcdef", Number: number, Window: window, Keep: time.Minute}
	return id
}

// through is a proxy before a server; plan says what happens to its n-th connection.
func (s *server) through(t *testing.T, plan func(conn int) []faultproxy.Fault) *faultproxy.Proxy {
	t.Helper()
	proxy, err := faultproxy.Start(s.addr, 1, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxy
}

func dial(t *testing.T, addr string, id Identity) *kvs.Client {
	t.Helper()
	client, _, err := Dial(context.Background(), addr, id)
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
func (c *counter) send(client *kvs.Client) {
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
func (c *counter) wait(client *kvs.Client) error {
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

// cuts are connections that end at random bytes, in order and not: before a
// request is whole, behind one that has been applied, within a reply, and from
// the second of a lane on within the handshake. None of the first few breaks
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
func TestLanesApplyOnce(t *testing.T) {
	const lanes, sharers = 4, 3
	batches := 2000
	if os.Getenv("KVLAB_LONG") == "1" {
		batches = 100_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := startServer(t, binaryID, engine.NewMutex())
	proxy := s.through(t, cuts(rand.New(rand.NewPCG(seed, 0)), lanes, 12_000))
	var left atomic.Int64
	left.Store(int64(batches))
	retries := new(Retries)
	var calling sync.WaitGroup
	var counters []*counter
	var clients []*kvs.Client
	for i := range lanes {
		id := laneID(i, sharers)
		id.Retries, id.Shared, id.CRC = retries, i%2 == 0, true
		clients = append(clients, dial(t, proxy.Addr(), id))
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
	poll(t, "a session outlives its client", func() bool { return s.service.Sessions() == 0 })
	checkCounters(t, s, counters, batches)
	connections, remembered := s.service.Retries()
	t.Logf("%d batches: %d connections broke, %d calls were sent again, %d answered from memory", batches,
		retries.Connections.Load(), retries.Calls.Load(), remembered)
	if sent := retries.Calls.Load(); remembered == 0 || remembered >= sent || connections < retries.Connections.Load() {
		t.Errorf("the server saw %d connections again; want calls of both kinds, applied before and not", connections)
	}
}

// checkCounters: the counters and the server's counts say that each batch was
// applied once.
func checkCounters(t *testing.T, s *server, counters []*counter, batches int) {
	t.Helper()
	versions := 0
	client := s.dial(t, binaryID)
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
	if applied := s.service.Counts()[binaryID.Node].ReadModifyWrites; versions != batches || applied != uint64(batches) {
		t.Errorf("%d versions, and %d calls applied; want %d", versions, applied, batches)
	}
}

// Requests and replies that are larger than what the kernel takes, several under
// way at once, do not stand in each other's way when they are sent again.
func TestLaneSendsLargeCallsAgain(t *testing.T) {
	const window, size = 4, 2 << 20
	s := startServer(t, binaryID, engine.NewMutex())
	proxy := s.through(t, func(conn int) []faultproxy.Fault {
		if conn == 0 {
			return []faultproxy.Fault{{Kind: faultproxy.Cut, Way: faultproxy.ToClient, At: 3 << 20}}
		}
		return nil
	})
	id := laneID(0, window)
	client := dial(t, proxy.Addr(), id)
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
	if err := within(t, "the calls", func() error { calling.Wait(); return nil }); err != nil || id.Retries.Connections.Load() != 1 {
		t.Errorf("%v, %d connections again", err, id.Retries.Connections.Load())
	}
}

// revenant is a server that can be started again, with an empty store, on the
// same port.
type revenant struct {
	addr     string
	listener net.Listener

	mu      sync.Mutex
	id      Identity     // guarded by mu
	service *kvs.Service // guarded by mu
	conns   []net.Conn   // guarded by mu
}

func newRevenant(t *testing.T, id Identity) *revenant {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &revenant{addr: listener.Addr().String(), listener: listener, id: id}
	r.restart()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			service, id := r.service, r.id
			r.conns = append(r.conns, conn)
			r.mu.Unlock()
			serving.Go(func() { _ = Serve(conn, id, service) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.restart()
		serving.Wait()
	})
	return r
}

// restart ends every connection, and returns the service that follows.
func (r *revenant) restart() *kvs.Service {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
	r.conns, r.service = nil, kvs.NewService(engine.NewMutex())
	return r.service
}

func (r *revenant) setToken(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id.Token = token
}

// A server that comes back with an empty store is noticed, by a lane and by a
// client that has met it before and connects again; nothing is applied to it.
func TestServerRestarted(t *testing.T) {
	s := newRevenant(t, binaryID)
	client, met, err := Dial(context.Background(), s.addr, laneID(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := counter{key: []byte("key")}
	c.send(client)
	if err := c.wait(client); err != nil {
		t.Fatal(err)
	}
	second := s.restart()
	c.send(client)
	again := binaryID
	again.Instance = met.Instance
	_, _, other := Dial(context.Background(), s.addr, again)
	for _, err := range []error{within(t, "the call", func() error { return c.wait(client) }), other} {
		var restarted *RestartedError
		if !errors.As(err, &restarted) || restarted.Node != binaryID.Node || restarted.Was != met.Instance || restarted.Is != second.Instance() {
			t.Errorf("error %v, want a RestartedError of both instances", err)
		}
	}
	if second.Records() != 0 {
		t.Error("a batch was applied to the empty store")
	}
	again.Instance = second.Instance()
	if client, _, err := Dial(context.Background(), s.addr, again); err != nil {
		t.Error(err)
	} else {
		client.Close()
	}
}

// A lane whose server is gone, or has been replaced by another run's, ends with
// the reason, in its time; one that answers nothing ends as well, as does one that
// its user closes meanwhile.
func TestLaneEnds(t *testing.T) {
	for _, test := range []struct {
		name  string
		after func(t *testing.T, r *revenant, client *kvs.Client)
		want  string
	}{
		{"gone", func(t *testing.T, r *revenant, _ *kvs.Client) { r.listener.Close(); r.restart() }, "no new connection within|no reply within"},
		{"another run's", func(t *testing.T, r *revenant, _ *kvs.Client) { r.setToken("later"); r.restart() }, "belongs to another run"},
		{"closed", func(t *testing.T, r *revenant, client *kvs.Client) { r.listener.Close(); r.restart(); client.Close() }, "closed|shut down"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRevenant(t, binaryID)
			id := laneID(0, 1)
			id.CallTimeout = 300 * time.Millisecond
			client := dial(t, r.addr, id)
			test.after(t, r, client)
			c := counter{key: []byte("key")}
			c.send(client)
			err := within(t, "the call", func() error { return c.wait(client) })
			found := false
			for _, want := range strings.Split(test.want, "|") {
				found = found || err != nil && strings.Contains(err.Error(), want)
			}
			if !found {
				t.Errorf("error %v, want %q", err, test.want)
			}
			poll(t, "the lane's goroutines are left", func() bool { return !runs("wire.watchCalls", "wire.(*line).obey", "rpc.(*Client).input") })
		})
	}
}

// runs reports whether a goroutine has one of the functions on its stack.
func runs(functions ...string) bool {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return slices.ContainsFunc(functions, func(f string) bool { return bytes.Contains(stacks, []byte(f)) })
}

// The old connection's requests are not applied once a new one has been welcomed,
// even when they were on their way before.
func TestLaneIsFenced(t *testing.T) {
	b := newBlocker()
	s := startServer(t, binaryID, b)
	id := laneID(0, 2)
	var put kvs.Batch
	put.Append(kvs.Put, []byte("key"), []byte("old"))
	frame := func(number uint64) []byte {
		f := append([]byte(nil), put.Frame()...)
		header{kind: requestFrame, seq: number, count: 1, size: uint32(put.Size())}.put(f)
		return f
	}
	id.Lane.Connection = 1
	old := s.rawConn(t, id)
	for number := range uint64(2) {
		if _, err := old.Write(frame(number)); err != nil {
			t.Fatal(err)
		}
	}
	<-b.entered // call 0 is being applied, call 1 is behind it
	id.Lane.Connection, id.Lane.Unanswered = 2, 2
	welcomed := make(chan net.Conn)
	go func() {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			_, err = id.greet(conn)
		}
		if err != nil {
			t.Error(err)
		}
		welcomed <- conn
	}()
	poll(t, "the old connection is not ended", func() bool {
		old.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, err := old.Read(make([]byte, 1))
		return !isTimeout(err)
	})
	select {
	case <-welcomed:
		t.Fatal("the new connection is welcomed while the old one's call is being applied")
	default:
	}
	b.leave <- struct{}{}
	conn := <-welcomed
	defer conn.Close()
	select {
	case <-b.entered:
		t.Fatal("a call of the old connection is applied behind the new one's welcome")
	default:
	}
	if err := s.end(t); !errors.Is(err, kvs.ErrSuperseded) {
		t.Errorf("the old connection ends with %v", err)
	}
	in := newBinaryConn(conn, false)
	for number := range uint64(2) {
		if _, err := conn.Write(frame(number)); err != nil {
			t.Fatal(err)
		}
		if number == 1 {
			<-b.entered // call 0 is answered from memory
			b.leave <- struct{}{}
		}
		if err := in.readHeader(replyFrame); err != nil || in.next.seq != number {
			t.Fatalf("reply %d: %v", in.next.seq, err)
		}
		if err := in.skipBody(); err != nil {
			t.Fatal(err)
		}
	}
	if calls := s.service.Counts()[binaryID.Node].Calls; calls != 2 {
		t.Errorf("%d calls applied, want 2", calls)
	}
}

// More calls under way than the server remembers answers to are refused before
// they are sent; the lane goes on.
func TestLaneWindow(t *testing.T) {
	b := newBlocker()
	s := startServer(t, binaryID, b)
	client := dial(t, s.addr, laneID(0, 1))
	first, second := counter{key: []byte("a")}, counter{key: []byte("b")}
	first.send(client)
	<-b.entered
	second.send(client)
	if err := second.wait(client); !errors.Is(err, kvs.ErrUnsent) || !strings.Contains(err.Error(), "beside 1 under way") {
		t.Errorf("a second call: %v", err)
	}
	b.leave <- struct{}{}
	if err := first.wait(client); err != nil {
		t.Error(err)
	}
}

// What is wrong with a lane is said at once.
func TestLaneRefused(t *testing.T) {
	for _, test := range []struct {
		change func(*Identity)
		want   string
	}{
		{func(id *Identity) { id.Codec = "gob" }, "-retry goes with -codec binary"},
		{func(id *Identity) { id.Lane.Window = 0 }, "want 1 to 65536"},
		{func(id *Identity) { id.Lane.Client = "me" }, "want 16 to 64"},
		{func(id *Identity) { id.Lane.Keep = time.Hour }, "want 0 to 10m"},
	} {
		id := laneID(0, 1)
		test.change(&id)
		server := binaryID
		server.Codec = id.Codec
		s := startServer(t, server, engine.NewMutex())
		if _, _, err := Dial(context.Background(), s.addr, id); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want a refusal with %q", err, test.want)
		}
		if err := s.end(t); err == nil {
			t.Error("the server took the client in")
		}
	}
}

// No bit that is flipped in a handshake's message changes what it says: a lane
// that is taken for another one, or for a new one, would apply calls twice.
func TestMessageFlips(t *testing.T) {
	id := laneID(3, 2)
	id.Lane.Unanswered = 2
	whole, err := seal(hello{Protocol: protocol, Codec: id.Codec, Node: id.Node, Nonce: newNonce(), Lane: id.Lane})
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * (len(whole) - 2) {
		message := bytes.Clone(whole[2:])
		message[bit/8] ^= 1 << (bit % 8)
		var h hello
		body, err := open(message)
		if err == nil {
			err = json.Unmarshal(body, &h)
		}
		if err == nil {
			t.Errorf("bit %d of %s is flipped: taken for %+v", bit, whole[2:], h)
		}
	}
}
