// Package drivertest is the suite that every driver passes.
package drivertest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"kvlab/internal/kvstest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// Suite is what the store of a driver can do.
type Suite struct {
	Kinds          []kvs.Kind // Get and Put among them
	EmptyIsMissing bool       // a Get of an empty value is answered as that of a missing key
	OrderByKey     bool       // only operations on one key are executed in order
}

// patience is how long a test waits for what happens at once on an idle machine.
const patience = 2 * time.Minute

// Options returns the default ones, but for the time of a call: on a busy machine a test's call
// may take longer than a user waits. What patience limits ends first.
func Options() driver.Options {
	o := driver.DefaultOptions()
	o.CallTimeout = 2 * patience
	return o
}

// Run tests drivers that open returns, each of one empty server, with operations of the
// kinds, Get and Put among them.
func Run(t *testing.T, open func(*testing.T) driver.Driver, kinds ...kvs.Kind) {
	Suite{Kinds: kinds}.Run(t, open)
}

// Run tests drivers that open returns, each of one empty server.
func (s Suite) Run(t *testing.T, open func(*testing.T) driver.Driver) {
	for name, test := range map[string]func(*testing.T, driver.Driver){
		"RoundTrip": s.roundTrip,
		"Order":     order, "Large": large, "Lanes": lanes, "Close": closeUnderWay,
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			t.Cleanup(func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, d)
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

// model is a slow store: the value of each key.
type model map[string][]byte

// result executes an operation and returns its result.
func (m model) result(op kvs.Op) (r kvs.Result) {
	key := string(op.Key)
	old, found := m[key]
	switch {
	case op.Kind == kvs.Delete:
		r.Read = !found
		delete(m, key)
	case op.Kind.Reads():
		r = kvs.Result{Read: true, Found: found, Value: old}
	}
	if op.Kind.Writes() {
		m[key] = op.Value
	}
	return r
}

// compare executes operations and returns an error if the results are not the model's.
func (m model) compare(ops []kvs.Op, results []kvs.Result) error {
	for i, op := range ops {
		if got, want := results[i], m.result(op); got.Read != want.Read || got.Found != want.Found || !bytes.Equal(got.Value, want.Value) {
			return fmt.Errorf("operation %d, a %s of %s: %.60v; want %.60v", i, op.Kind, op.Key, got, want)
		}
	}
	return nil
}

// of returns the operations of some kinds.
func of(ops []kvs.Op, kinds []kvs.Kind) []kvs.Op {
	return slices.DeleteFunc(ops, func(op kvs.Op) bool { return !slices.Contains(kinds, op.Kind) })
}

// roundTrip compares the results of random operations with those of a model.
func (s Suite) roundTrip(t *testing.T, d driver.Driver) {
	conn, random, m := Dial(t, d, 0), kvstest.NewRandom(t), model{}
	for range 25 {
		ops := of(kvstest.RandomOps(random, 1+random.IntN(300), kvs.Scan), s.Kinds)
		for i := range ops {
			ops[i].Key = fmt.Appendf(nil, "key%d", random.IntN(100))
			if s.EmptyIsMissing && ops[i].Kind.Writes() && len(ops[i].Value) == 0 {
				ops[i].Value = []byte{0}
			}
		}
		results, err := Do(conn, ops...)
		if err == nil {
			err = m.compare(ops, results)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// order sends calls before it waits for the first: they are executed in order.
func order(t *testing.T, d driver.Driver) {
	conn := Dial(t, d, 0)
	var calls [20]*call
	for i := range calls {
		key := []byte("k")
		calls[i] = newCall(kvs.Op{Kind: kvs.Put, Key: key, Value: []byte{byte(i)}}, kvs.Op{Kind: kvs.Get, Key: key})
		conn.Send(&calls[i].Call)
	}
	for i, c := range calls {
		if results, err := c.results(conn); err != nil || !bytes.Equal(results[1].Value, []byte{byte(i)}) {
			t.Errorf("call %d read %v, %v; want what it wrote", i, results, err)
		}
	}
}

// large sends a call that fits into no buffer on the way, and whose replies do not either:
// they must be read while it is written.
func large(t *testing.T, d driver.Driver) {
	conn, random, m := Dial(t, d, 0), kvstest.NewRandom(t), model{}
	const size = 4096
	noise := kvstest.RandomBytes(random, 64<<10)
	var ops []kvs.Op
	for i := range 2500 { // 10 MB each way; Linux buffers 7 to 8 of a connection on loopback
		key, at := fmt.Appendf(nil, "key%d", i%100), random.IntN(len(noise)-size)
		ops = append(ops, kvs.Op{Kind: kvs.Put, Key: key, Value: noise[at : at+size]}, kvs.Op{Kind: kvs.Get, Key: key})
	}
	results, err := Do(conn, ops...)
	if err == nil {
		err = m.compare(ops, results)
	}
	if err != nil {
		t.Error(err)
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
		if err != nil || !bytes.Equal(results[0].Value, value) {
			t.Errorf("key %s: %+v, %v; want %v", key, results, err, value)
		}
	}
}

// closeUnderWay closes a connection that goroutines share: every call ends, and from
// then on with an error.
func closeUnderWay(t *testing.T, d driver.Driver) {
	conn := Dial(t, d, 0)
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for err := error(nil); err == nil; {
				_, err = Do(conn, kvs.Op{Kind: kvs.Put, Key: []byte("k")})
			}
		})
	}
	time.Sleep(10 * time.Millisecond)
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	running.Wait()
	if _, err := Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("k")}); err == nil {
		t.Error("a call on a closed connection succeeds")
	}
}
