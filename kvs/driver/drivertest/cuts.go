package drivertest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/kvs"
	"kvlab/kvs/driver"
)

// Cuts ends the connection of a short exchange in either direction, in order and by a reset:
// within two bytes of each end of a message, and in order and by a reset by turns after one
// byte in three; with KVLAB_LONG=1 after each of its bytes. Each time
// every call has its right results or an error, and the server has applied the acknowledged
// operations and perhaps some of the later ones, in order. The server at addr executes
// operations of the kinds, Get and Put among them; open returns a driver of a server at an
// address.
func Cuts(t *testing.T, addr string, open func(t *testing.T, addr string) driver.Driver, kinds ...kvs.Kind) {
	Suite{Kinds: kinds}.Cuts(t, addr, open)
}

// Cuts is the function Cuts, with operations that the store can do.
func (s Suite) Cuts(t *testing.T, addr string, open func(t *testing.T, addr string) driver.Driver) {
	var next atomic.Pointer[faultproxy.Fault] // of the next connection
	proxy := faultproxy.Start(t, addr, func(int) []faultproxy.Fault {
		if f := next.Swap(nil); f != nil {
			return []faultproxy.Fault{*f}
		}
		return nil
	})
	direct := Dial(t, open(t, addr), 0)
	whole := s.newExchange(0)
	whole.run(t, open(t, proxy.Addr()), 1)
	if err := whole.settle(direct); err != nil || whole.acknowledged != len(whole.calls[0])+len(whole.calls[1]) {
		t.Fatalf("without a cut %d operations are acknowledged: %v", whole.acknowledged, err)
	}
	exchanges, struck, length := 1, 0, int64(0)
	for _, cut := range []faultproxy.Fault{
		{Kind: faultproxy.Truncate, Way: faultproxy.ToServer}, {Kind: faultproxy.Truncate, Way: faultproxy.ToClient},
		{Kind: faultproxy.Cut, Way: faultproxy.ToServer}, {Kind: faultproxy.Cut, Way: faultproxy.ToClient},
	} {
		ends := proxy.Ends(cut.Way)
		for ; ; cut.At++ {
			if !strikes(cut, ends) {
				continue
			}
			next.Store(&cut)
			e := s.newExchange(exchanges)
			e.run(t, open(t, proxy.Addr()), len(e.calls))
			if err := e.settle(direct); err != nil {
				t.Fatalf("%v: %v", cut, err)
			}
			exchanges++
			if n := len(proxy.Struck()); n == struck {
				break // the exchange is shorter
			}
			struck++
		}
		length += cut.At
	}
	t.Logf("%d cuts in %d bytes", struck, length/2)
	if length < 2*300 || int64(struck) < length/6 {
		t.Errorf("%d connections were cut in exchanges of %d bytes, want 300 bytes and a third of them", struck, length/2)
	}
}

// strikes reports whether a cut is made.
func strikes(cut faultproxy.Fault, ends []int64) bool {
	near := func(end int64) bool { return end-2 <= cut.At && cut.At <= end+2 }
	turn := int64(0)
	if cut.Kind == faultproxy.Cut {
		turn = 3
	}
	return cut.At%6 == turn || slices.ContainsFunc(ends, near) || os.Getenv("KVLAB_LONG") == "1"
}

// exchange is two calls, of which the second is sent before the first is answered.
type exchange struct {
	keys         [3][]byte
	calls        [2][]kvs.Op
	acknowledged int // operations
	wrong        error
	byKey        bool // only operations on one key are executed in order
}

// newExchange returns the exchange of a number. All are of as many bytes.
func (s Suite) newExchange(number int) *exchange {
	e, kinds := &exchange{byKey: s.OrderByKey}, s.Kinds
	for i := range e.keys {
		e.keys[i] = fmt.Appendf(nil, "cut%05d-%d", number, i)
	}
	a, b, c := e.keys[0], e.keys[1], e.keys[2]
	e.calls = [2][]kvs.Op{
		of([]kvs.Op{
			{Kind: kvs.Put, Key: a, Value: []byte("1")}, {Kind: kvs.Get, Key: a}, {Kind: kvs.ReadModifyWrite, Key: a, Value: []byte("22")},
			{Kind: kvs.Insert, Key: b, Value: []byte("333")}, {Kind: kvs.Get, Key: c},
		}, kinds),
		of([]kvs.Op{
			{Kind: kvs.Get, Key: a}, {Kind: kvs.Get, Key: b}, {Kind: kvs.Delete, Key: a}, {Kind: kvs.Put, Key: b, Value: []byte("4")},
			{Kind: kvs.ReadModifyWrite, Key: c, Value: []byte("5")}, {Kind: kvs.Put, Key: c, Value: []byte("66")}, {Kind: kvs.Get, Key: a},
		}, kinds),
	}
	return e
}

// run makes the exchange, with a number of calls in flight. Nothing in it may take forever.
func (e *exchange) run(t *testing.T, d driver.Driver, inFlight int) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.wrong = e.converse(t, d, inFlight)
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("a call on a connection that was cut does not end")
	}
}

// converse returns an error if a call succeeds with a wrong result.
func (e *exchange) converse(t *testing.T, d driver.Driver, inFlight int) error {
	defer d.Close()
	conn, _, err := d.Dial(t.Context(), 0, 0)
	if err != nil {
		return nil // the cut was in the handshake
	}
	defer conn.Close()
	var calls []*call
	send := func() {
		c := newCall(e.calls[len(calls)]...)
		calls = append(calls, c)
		conn.Send(&c.Call)
	}
	for range inFlight {
		send()
	}
	var failed error
	m := model{}
	for i := range e.calls {
		if i == len(calls) {
			send()
		}
		results, err := calls[i].results(conn)
		switch {
		case err != nil:
			failed = err
			continue
		case failed != nil:
			return fmt.Errorf("call %d succeeds after one that failed: %v", i, failed)
		}
		if err := m.compare(e.calls[i], results); err != nil {
			return fmt.Errorf("call %d: %v", i, err)
		}
		e.acknowledged += len(e.calls[i])
	}
	return nil
}

// settle waits until what the server has applied is a prefix of the operations that has all
// that were acknowledged. The server may have received some that it has not yet executed.
func (e *exchange) settle(direct driver.Conn) error {
	if e.wrong != nil {
		return e.wrong
	}
	sent := slices.Concat(e.calls[0], e.calls[1])
	var results []kvs.Result
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		var err error
		if results, err = Do(direct, kvs.Op{Kind: kvs.Get, Key: e.keys[0]}, kvs.Op{Kind: kvs.Get, Key: e.keys[1]}, kvs.Op{Kind: kvs.Get, Key: e.keys[2]}); err != nil {
			return err
		}
		stored := model{}
		for i, r := range results {
			if r.Found {
				stored[string(e.keys[i])] = r.Value
			}
		}
		if e.explains(sent, stored) {
			return nil
		}
	}
	return fmt.Errorf("the server has %v, after %d of %d operations were acknowledged", results, e.acknowledged, len(sent))
}

// explains reports whether some first operations of sent, or of those on each key, have
// stored what the server has, all that were acknowledged among them.
func (e *exchange) explains(sent []kvs.Op, stored model) bool {
	explained := make(map[string]bool)
	applied := model{}
	for n := 0; ; n++ {
		for _, key := range e.keys {
			k := string(key)
			is, ok := applied[k]
			was, found := stored[k]
			right := n >= e.acknowledged && ok == found && bytes.Equal(is, was)
			explained[k] = right || e.byKey && explained[k]
		}
		switch {
		case explained[string(e.keys[0])] && explained[string(e.keys[1])] && explained[string(e.keys[2])]:
			return true
		case n == len(sent):
			return false
		}
		applied.result(sent[n])
	}
}
