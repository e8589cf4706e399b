// Package drivertest is the suite that every driver passes.
package drivertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/kvstest"
)

// Run tests drivers that open returns, each of one empty server.
func Run(t *testing.T, open func(*testing.T) driver.Driver) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, driver.Driver)
	}{
		{"RoundTrip", roundTrip}, {"Order", order}, {"Lanes", lanes}, {"Close", closeUnderWay},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := open(t)
			t.Cleanup(func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
			test.run(t, d)
		})
	}
}

// Dial returns a connection to the one server, which is closed after the test.
func Dial(t *testing.T, d driver.Driver, lane int) driver.Conn {
	t.Helper()
	conn, server, err := d.Dial(t.Context(), 0, lane)
	if err != nil {
		t.Fatal(err)
	}
	if server.Name == "" || server.NoStore {
		t.Errorf("server %+v, want a name and a store", server)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// call is a call with its batch and its reply.
type call struct {
	kvs.Call
	batch kvs.Batch
	reply kvs.Reply
}

func newCall(ops ...kvs.Op) *call {
	c := new(call)
	c.Batch, c.Reply = &c.batch, &c.reply
	kvstest.Fill(&c.batch, ops)
	return c
}

// results waits for the call's reply and returns its results.
func (c *call) results(conn driver.Conn) ([]kvs.Result, error) {
	if err := conn.Wait(&c.Call); err != nil {
		return nil, err
	}
	results, err := kvstest.DecodeReply(&c.reply)
	if err == nil && len(results) != c.batch.Len() {
		err = fmt.Errorf("%d results for %d operations", len(results), c.batch.Len())
	}
	return results, err
}

// Do sends operations as one call and returns its results.
func Do(conn driver.Conn, ops ...kvs.Op) ([]kvs.Result, error) {
	c := newCall(ops...)
	conn.Send(&c.Call)
	return c.results(conn)
}

// roundTrip compares the results of random operations with those of a map.
func roundTrip(t *testing.T, d driver.Driver) {
	conn, random := Dial(t, d, 0), kvstest.NewRandom(t)
	model := make(map[string][]byte)
	for range 50 {
		ops := kvstest.RandomOps(random, 1+random.IntN(300))
		for i := range ops {
			ops[i].Key = fmt.Appendf(nil, "key%d", random.IntN(100))
		}
		results, err := Do(conn, ops...)
		if err != nil {
			t.Fatal(err)
		}
		for i, op := range ops {
			value, found := model[string(op.Key)]
			want := kvs.Result{Read: op.Kind.Reads(), Found: found && op.Kind.Reads()}
			if got := results[i]; got.Read != want.Read || got.Found != want.Found || want.Found && !slices.Equal(got.Value, value) {
				t.Fatalf("operation %d, a %s of %s: read %t, found %t, %d bytes; want %t, %t, %d bytes", i, op.Kind, op.Key,
					got.Read, got.Found, len(got.Value), want.Read, want.Found, len(value))
			}
			if op.Kind.Writes() {
				model[string(op.Key)] = op.Value
			}
		}
	}
}

// order sends calls before it waits for the first: they are executed in order.
func order(t *testing.T, d driver.Driver) {
	conn := Dial(t, d, 0)
	var calls []*call
	for i := range 20 {
		key := []byte("k")
		c := newCall(kvs.Op{Kind: kvs.Put, Key: key, Value: []byte{byte(i)}}, kvs.Op{Kind: kvs.Get, Key: key})
		conn.Send(&c.Call)
		calls = append(calls, c)
	}
	for i, c := range calls {
		results, err := c.results(conn)
		if err != nil {
			t.Fatal(err)
		}
		if got := results[1]; !got.Found || !slices.Equal(got.Value, []byte{byte(i)}) {
			t.Errorf("call %d read %v, want what it wrote", i, got.Value)
		}
	}
}

// lanes reads by one connection what another has written.
func lanes(t *testing.T, d driver.Driver) {
	conns := []driver.Conn{Dial(t, d, 0), Dial(t, d, 1)}
	for i := range 20 {
		key, value := fmt.Appendf(nil, "k%d", i), []byte{byte(i)}
		if _, err := Do(conns[i%2], kvs.Op{Kind: kvs.Put, Key: key, Value: value}); err != nil {
			t.Fatal(err)
		}
		results, err := Do(conns[1-i%2], kvs.Op{Kind: kvs.Get, Key: key})
		if err != nil || !results[0].Found || !slices.Equal(results[0].Value, value) {
			t.Errorf("key %s: %+v, %v; want %v", key, results, err, value)
		}
	}
}

// closeUnderWay closes a connection that goroutines share: every call ends, and from
// then on with an error.
func closeUnderWay(t *testing.T, d driver.Driver) {
	conn := Dial(t, d, 0)
	var running sync.WaitGroup
	for id := range 4 {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(id), 0))
			for {
				if _, err := Do(conn, kvs.Op{Kind: kvs.Put, Key: kvstest.RandomBytes(random, 8)}); err != nil {
					return
				}
			}
		})
	}
	time.Sleep(10 * time.Millisecond)
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	ended := make(chan struct{})
	go func() { running.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("calls do not end after Close")
	}
	if _, err := Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")}); err == nil {
		t.Error("a call on a closed connection succeeds")
	}
}
