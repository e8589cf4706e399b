package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"slices"
	"strings"
	"sync"
	"testing"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/metrics"
)

// each runs a test for every row of codecs, with every combination of the options
// that the codec supports, and under TLS: what a codec must do is tested with it.
func each(t *testing.T, test func(t *testing.T, options Options)) {
	for _, c := range codecs {
		for name, features := range map[string]Features{"": {}, " deduped": {Dedup: true}, " checked": {CRC: true}, " both": {Dedup: true, CRC: true}} {
			if features.Dedup && !c.supports.Dedup || features.CRC && !c.supports.CRC {
				continue
			}
			t.Run(c.name+name, func(t *testing.T) {
				test(t, Options{Hello: Hello{Node: "node0", Codec: c.name, Features: features}, Token: "secret"})
			})
		}
	}
	t.Run("encrypted", func(t *testing.T) { test(t, encryptedOptions(t)) })
}

// ordered returns an engine that has every kind.
func ordered(t *testing.T) kvs.Engine {
	t.Helper()
	e, err := engine.Open("btree", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Over each codec a store gives the results that it gives without a network,
// for the same batches: of no operation, of one, and of many; with long values.
func TestCallsAgreeWithoutNetwork(t *testing.T) {
	each(t, func(t *testing.T, options Options) {
		random := kvstest.NewRandom(t)
		far := startServer(t, options, ordered(t))
		near := service.New(ordered(t)).Open("near")
		client := far.dial(t, options)
		sizes := []struct{ ops, longest int }{
			{0, 0}, {1, 0}, {255, 100}, {256, 100}, {257, 100}, {4000, 300}, {1, kvs.MaxValueLen}, {8, kvs.MaxValueLen}, {3, 10}, {0, 0},
		}
		for _, size := range sizes {
			batch := randomBatch(random, size.ops, size.longest)
			reply, err := call(client, batch)
			if err != nil {
				t.Fatalf("%d operations: %v", size.ops, err)
			}
			var want kvs.Reply
			if err := near.BatchPutGet(batch, &want); err != nil {
				t.Fatal(err)
			}
			if got := words(t, reply); !slices.Equal(got, words(t, &want)) {
				t.Fatalf("%d operations of up to %d bytes: other results than without a network", size.ops, size.longest)
			}
			reply.Free()
		}
		if peers := far.service.Counts(); peers["node0"].Calls != uint64(len(sizes)) {
			t.Errorf("counts %v, want %d calls of node0", peers, len(sizes))
		}
	})
}

// A Call is used again, its batch and reply grow and shrink, and nothing of one
// call shows in the next.
func TestCallIsUsedAgain(t *testing.T) {
	each(t, func(t *testing.T, options Options) {
		client := startServer(t, options, engine.NewMutex()).dial(t, options)
		one := kvs.Call{Batch: new(kvs.Batch), Reply: new(kvs.Reply)}
		for i, size := range []int{10, 100_000, 0, 1, 500} {
			one.Batch.Reset()
			one.Batch.Append(kvs.Put, []byte("k"), make([]byte, size))
			one.Batch.Get([]byte("k"))
			client.Send(&one)
			if err := client.Wait(&one); err != nil {
				t.Fatal(err)
			}
			want := "found true read true value " + valueWords(make([]byte, size))
			if got := words(t, one.Reply); len(got) != 2 || got[1] != want {
				t.Errorf("call %d: not the %d bytes that were put", i, size)
			}
			if i%2 == 0 {
				one.Reply.Free()
			}
		}
	})
}

// The calls of each of many goroutines, over connections of their clients' workers alone and
// over shared ones, take effect in their order, small and large ones mixed, and all of them
// are counted.
func TestCallsTakeEffectInOrder(t *testing.T) {
	each(t, func(t *testing.T, options Options) {
		for _, options.Shared = range []bool{false, true} {
			s := startServer(t, options, engine.NewMutex())
			const clients, goroutines, calls, ahead = 3, 6, 40, 3
			var group sync.WaitGroup
			for c := range clients {
				client := s.dial(t, options)
				for g := range goroutines {
					group.Go(func() {
						if err := exchangeInOrder(client, fmt.Appendf(nil, "%d-%d", c, g), calls, ahead); err != nil {
							t.Errorf("client %d, goroutine %d: %v", c, g, err)
						}
					})
				}
			}
			group.Wait()
			const all = clients * goroutines
			want := metrics.Counts{ReadModifyWrites: all * calls, Hits: all * (calls - 1), Misses: all, Calls: all * calls}
			if got := s.service.Counts()["node0"]; got != want {
				t.Errorf("counts %+v, want %+v", got, want)
			}
		}
	})
}

// exchangeInOrder stores values 0, 1, 2, ... of one key, ahead of them at a
// time, every seventh a large one, and checks that each call reads the one before.
func exchangeInOrder(client *Client, key []byte, n, ahead int) error {
	value := func(i int) []byte {
		v := fmt.Appendf(nil, "%d", i)
		if i%7 == 0 {
			v = append(v, make([]byte, 2*MaxGroup)...)
		}
		return v
	}
	calls := make([]kvs.Call, n)
	for i := 0; i < n+ahead; i++ {
		if i < n {
			calls[i] = kvs.Call{Batch: new(kvs.Batch), Reply: new(kvs.Reply)}
			calls[i].Batch.Append(kvs.ReadModifyWrite, key, value(i))
			client.Send(&calls[i])
		}
		j := i - ahead
		if j < 0 {
			continue
		}
		if err := client.Wait(&calls[j]); err != nil {
			return fmt.Errorf("call %d: %w", j, err)
		}
		results := calls[j].Reply.Results()
		result, err := results.Next()
		if err != nil {
			return fmt.Errorf("call %d: %w", j, err)
		}
		if result.Found != (j > 0) || j > 0 && !bytes.Equal(result.Value, value(j-1)) {
			return fmt.Errorf("call %d did not read what the call before it stored", j)
		}
		calls[j].Reply.Free()
	}
	return nil
}

// A client that closes ends its session, and no other.
func TestConnectionEnds(t *testing.T) {
	each(t, func(t *testing.T, options Options) {
		s := startServer(t, options, engine.NewMutex())
		stays, goes := s.dial(t, options), s.dial(t, options)
		var batch kvs.Batch
		batch.Get([]byte("k"))
		for range 2 {
			if _, err := call(goes, &batch); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(goes.Close(), goes.Close()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := s.end(t); err != nil {
			t.Errorf("Serve after the client closed between two calls: %v", err)
		}
		if _, err := call(goes, &batch); !errors.Is(err, rpc.ErrShutdown) {
			t.Errorf("a call after Close: error %v, want ErrShutdown", err)
		}
		if _, err := call(stays, &batch); err != nil {
			t.Errorf("the other connection: %v", err)
		}
		if n, counts := s.service.Conns(), s.service.Counts()["node0"]; n != 1 || counts.Misses != 3 {
			t.Errorf("%d sessions, %d misses; want 1 and 3", n, counts.Misses)
		}
	})
}

// Close ends a call that is under way, and so does the server's end.
func TestCallUnderWayFails(t *testing.T) {
	each(t, func(t *testing.T, options Options) {
		e := newBlocker()
		s := startServer(t, options, e)
		client := s.dial(t, options)
		var batch kvs.Batch
		batch.Get([]byte("k"))
		one := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
		client.Send(&one)
		<-e.entered
		client.Close()
		if err := within(t, "Wait after Close", func() error { return client.Wait(&one) }); err == nil {
			t.Error("a call without a reply succeeded")
		}
		close(e.leave)
		_ = s.end(t) // the reply meets a closed connection, or is lost in its buffers
	})
}

// A panic in the engine answers that call with an error; the connection goes
// on.
func TestErrorReply(t *testing.T) {
	each(t, func(t *testing.T, options Options) {
		client := startServer(t, options, &fragile{engine.NewMutex()}).dial(t, options)
		var bad, good kvs.Batch
		bad.Get([]byte("boom"))
		good.Get([]byte("k"))
		var answered rpc.ServerError
		for range 2 {
			if _, err := call(client, &bad); !errors.As(err, &answered) || !strings.Contains(err.Error(), "out of order") {
				t.Errorf("error %v, want the server's, with the panic's words", err)
			}
			if _, err := call(client, &good); err != nil {
				t.Errorf("the call after the error: %v", err)
			}
		}
	})
}

// fragile panics at a key.
type fragile struct{ kvs.Engine }

func (f fragile) Apply(ops []kvs.Op, reply *kvs.Reply) {
	for _, op := range ops {
		if string(op.Key) == "boom" {
			panic("out of order")
		}
	}
	f.Engine.Apply(ops, reply)
}

// A batch whose reply would not fit a frame is answered by an error that says
// so, and a batch that would not fit one is not sent at all. The connection
// goes on.
func TestTooLarge(t *testing.T) {
	var put, gets, puts kvs.Batch
	put.Append(kvs.Put, []byte("k"), make([]byte, kvs.MaxValueLen))
	for range kvs.MaxBody/kvs.MaxValueLen + 1 {
		gets.Get([]byte("k"))
		puts.Reserve(kvs.Put, []byte("k"), kvs.MaxValueLen)
	}
	each(t, func(t *testing.T, options Options) {
		client := startServer(t, options, engine.NewMutex()).dial(t, options)
		if _, err := call(client, &put); err != nil {
			t.Fatal(err)
		}
		tooLarge := []*kvs.Batch{&gets, &puts}
		if options.Dedup {
			tooLarge = tooLarge[1:] // the reply holds its one value once, and fits
		}
		for _, large := range tooLarge {
			if _, err := call(client, large); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("at most %d", kvs.MaxBody)) {
				t.Errorf("error %.200v, want one that names the limit", err)
			}
			if _, err := call(client, &put); err != nil {
				t.Fatalf("the call after the error: %v", err)
			}
		}
	})
}

// A codec and its features are accepted as its row says, by the flags' check and
// by the server.
func TestCheckCodec(t *testing.T) {
	wants := map[string]Features{
		"-dedup": {Dedup: true}, "-crc": {CRC: true}, "-retry": {Retry: true}, "-cache": {Cache: true},
	}
	for _, c := range codecs {
		if err := CheckCodec(c.name, c.supports); err != nil {
			t.Error(err)
		}
		for flag, f := range wants {
			ok := f.Dedup && c.supports.Dedup || f.CRC && c.supports.CRC || f.Retry && c.supports.Retry || f.Cache && c.supports.Cache
			h := message{Protocol: protocol, Values: kvs.ValueFormat, Nonce: newNonce(), Hello: Hello{Codec: c.name, Features: f}}
			if f.Retry {
				h.Session.Connection = 1
			}
			err, objection := CheckCodec(c.name, f), Options{Hello: Hello{Codec: c.name}}.objection(h)
			if ok != (err == nil) || ok != (objection == nil) || !ok && (!strings.HasPrefix(err.Error(), flag+": -codec "+c.name) || objection.Error() != err.Error()) {
				t.Errorf("%s with %s: error %v, the server's objection %q, want them: %t", c.name, flag, err, objection, !ok)
			}
		}
	}
	if err := CheckCodec("json", Features{}); err == nil || !strings.HasPrefix(err.Error(), `-codec "json"`) {
		t.Errorf("error %v, want one that names -codec", err)
	}
}

func TestDialErrors(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := gone.Addr().String()
	gone.Close()
	if _, _, err := Dial(context.Background(), addr, Options{Hello: Hello{Codec: "binary"}}); err == nil || !strings.Contains(err.Error(), addr) {
		t.Errorf("nobody listens: error %v, want one that names %s", err, addr)
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	over := make(chan struct{})
	defer close(over)
	go func() {
		conn, err := silent.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		conn.Read(make([]byte, 1)) // the hello is under way: the handshake has begun
		cancel(why)
		<-over
	}()
	err = within(t, "Dial", func() error {
		_, _, err := Dial(ctx, silent.Addr().String(), Options{Hello: Hello{Codec: "binary"}})
		return err
	})
	if !errors.Is(err, why) {
		t.Errorf("cancelled in the handshake: error %v, want the cause", err)
	}
}
