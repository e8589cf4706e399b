package driver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/faultproxy"
	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/engine"
	"kvlab/kvs/history/serial"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/txn"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

var transactional = drivertest.Suite{Kinds: []kvs.Kind{kvs.Get, kvs.Put, kvs.ReadModifyWrite}}

// stores starts servers with a policy, and returns them and a client's driver.
func stores(t *testing.T, servers int, policy string, change func(*driver.Options)) ([]*service.Service, driver.Driver) {
	o, all := drivertest.Options(), []*service.Service(nil)
	o.Hosts = nil
	for range servers {
		s := service.New(engine.NewSyncMap())
		var err error
		if s.Policy, err = txn.FindPolicy(policy); err != nil {
			t.Fatal(err)
		}
		options := wire.Options{Hello: wire.Hello{Node: "server0", Codec: wire.Codecs[0]}}
		addr := wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, options, s, server.PerConn) }).Addr().String()
		o.Hosts, all = append(o.Hosts, addr), append(all, s)
	}
	if change != nil {
		change(&o)
	}
	return all, opened(t, o, driver.Use{CallsInFlight: 16, Txn: 4})
}

func TestTransactions(t *testing.T) {
	for servers := range 3 {
		for _, policy := range []string{"nowait", "waitdie", "woundwait"} {
			t.Run(fmt.Sprint(servers+1, policy), func(t *testing.T) {
				_, d := stores(t, servers+1, policy, nil)
				transactional.Transactions(t, servers+1, d)
			})
		}
	}
	t.Run("inproc", func(t *testing.T) { transactional.Transactions(t, 1, driver.OpenEngine(engine.NewSyncMap())) })
}

// With -retry each call is executed once, however often a connection breaks.
func TestTransactionsOverCuts(t *testing.T) {
	random := int64(0)
	var mu sync.Mutex
	services, d := stores(t, 2, "nowait", func(o *driver.Options) {
		o.Retry = true
		for i, addr := range o.Hosts {
			o.Hosts[i] = faultproxy.Start(t, addr, func(int) []faultproxy.Fault {
				mu.Lock()
				defer mu.Unlock()
				random += 977
				return []faultproxy.Fault{{Kind: faultproxy.Cut, Way: []faultproxy.Way{faultproxy.ToServer, faultproxy.ToClient}[random%2], At: 1500 + random%2000}}
			}).Addr()
		}
	})
	transactional.Transactions(t, 2, d)
	var again uint64
	for _, s := range services {
		connections, _ := s.Retries()
		again += connections
	}
	if d.Info().Retries == nil || again == 0 {
		t.Error("no connection broke")
	}
}

// A round takes a call to each server that attempts of it touch, and another one if an attempt
// touches several; the servers count the commits, and the calls, that the worker knows.
func TestRoundTrips(t *testing.T) {
	services, d := stores(t, 3, "nowait", nil)
	w := transactional.NewTransactor(t, d, 3, 0, 1)
	var calls [3]uint64
	runs, parts := uint64(0), uint64(0)
	for range 50 {
		if !w.Round(func() serial.Attempt { return w.Draw(2) }) {
			return
		}
		var want [3]uint64
		for _, a := range w.Last.Attempts {
			places := w.Last.Places[a.First:a.End]
			cross := places[0] != places[len(places)-1]
			for _, p := range places {
				if want[p] = max(want[p], 1); cross {
					want[p] = 2
				}
			}
			switch {
			case a.Outcome != txn.IsCommitted: // locked by an attempt of the same round
			case cross:
				parts += 2
			default:
				runs++
			}
		}
		for server, cost := range w.Last.Costs {
			if calls[server] += cost.Calls; cost.Calls != want[server] {
				t.Fatalf("server %d: %d calls of %+v at %v, want %d", server, cost.Calls, w.Last.Attempts, w.Last.Places, want[server])
			}
			if cost.Calls > 0 && (cost.Sent == 0 || cost.Received == 0 || cost.Took <= 0 || cost.Served <= 0 || cost.Served > cost.Took) {
				t.Errorf("server %d: %+v", server, cost)
			}
		}
	}
	for server, s := range services {
		if got := s.Counts()["client"].Calls; got != calls[server] {
			t.Errorf("server %d counts %d calls, the worker %d", server, got, calls[server])
		}
		tally := s.Tallies()["client"]
		runs, parts = runs-tally.Runs, parts-tally.Parts
	}
	if runs != 0 || parts != 0 {
		t.Errorf("the worker knows %d runs and %d parts more than the servers count", runs, parts)
	}
}

// A client without -txn sends no transactions, and is not asked whether it could; one with it is
// refused by an engine that cannot execute them.
func TestTransactionsRefused(t *testing.T) {
	row, err := engine.Find("null")
	if err != nil {
		t.Fatal(err)
	}
	options := wire.Options{Hello: wire.Hello{Node: "server0", Codec: wire.Codecs[0]}, Untransactional: row.CheckTransactions()}
	s := service.New(engine.NewMutex())
	addr := wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, options, s, server.PerConn) }).Addr().String()
	for _, n := range []int{0, 3} {
		conn, _, err := dialing(t, addr, driver.Use{Txn: n}).Dial(t.Context(), 0, 0)
		if err == nil {
			conn.Close()
		}
		if (err != nil) != (n > 0) || n > 0 && (!errors.Is(err, wire.ErrRefused) || !strings.Contains(err.Error(), "(server0): -txn: -engine null has no store")) {
			t.Errorf("-txn %d: %v", n, err)
		}
	}
	o := drivertest.Options()
	o.Foreign, o.Transport = []driver.Row{{Name: "other", Check: func(driver.Options, driver.Use) error { return nil }}}, "other"
	if err := o.Validate(driver.Use{Txn: 3}); err == nil || !strings.Contains(err.Error(), "-txn 3: want a target with transactions, such as kvlab's own servers: other has none") {
		t.Errorf("a store without transactions: %v", err)
	}
	o = drivertest.Options()
	o.Dedup = true
	if err := o.Validate(driver.Use{Txn: 3}); err == nil || !strings.Contains(err.Error(), "-txn 3: want neither -dedup nor -cache") {
		t.Errorf("with -dedup: %v", err)
	}
}

// mortal is the driver of a client that dies after it has sent some calls.
type mortal struct {
	driver.Transactional
	calls int
}

func (m *mortal) Dial(ctx context.Context, server, lane int) (driver.Conn, driver.Server, error) {
	conn, met, err := m.Transactional.Dial(ctx, server, lane)
	return &dying{Conn: conn, client: m}, met, err
}

type dying struct {
	driver.Conn
	client *mortal
	dead   bool
}

var errDied = errors.New("its client has died")

func (c *dying) Send(call *kvs.Call) {
	if c.client.calls--; c.client.calls < 0 {
		c.dead = true
		return
	}
	c.Conn.Send(call)
}

func (c *dying) Wait(call *kvs.Call) error {
	if c.dead {
		return errDied
	}
	return c.Conn.Wait(call)
}

// Clients that die between the rounds of their transactions leave no lock and no half commit:
// the next worker that meets their locks settles them after the lease. What had no decision is
// aborted, and what one server has committed is committed.
func TestDeadClients(t *testing.T) {
	for _, policy := range []string{"nowait", "waitdie", "woundwait"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel() // it mostly waits
			services, d := stores(t, 2, policy, nil)
			var all []*drivertest.Transactor
			for id := range 4 {
				client := &mortal{d.(driver.Transactional), 2 + id%2} // both votes, and perhaps one decision
				w := transactional.NewTransactor(t, client, 2, id, 1)
				w.Mortal, w.Size = true, 1
				one := serial.Attempt{Ops: []serial.Op{{Key: uint32(2 * id), Wrote: 1}, {Key: uint32(2*id + 1), Wrote: 1}}}
				if w.Round(func() serial.Attempt { return one }) || w.Unknown != 1 {
					t.Fatalf("client %d lives: %+v", id, w.Attempts)
				}
				all = append(all, w)
			}
			died := time.Now()
			reader := transactional.NewTransactor(t, d, 2, 4, 1)
			reader.Size = 1
			for reader.Commits == 0 {
				if !reader.Round(drivertest.Whole) {
					return
				}
			}
			took := time.Since(died)
			if t.Logf("locks were free after %v", took); took > 2*time.Second && os.Getenv("KVLAB_LONG") == "1" {
				t.Errorf("locks were free after %v, want 2 s", took)
			}
			if f := serial.Check(drivertest.History(append(all, reader))); f != nil {
				t.Errorf("%s: %s", f.Anomaly, f.Why)
			}
			seen := reader.Attempts[len(reader.Attempts)-1].Ops
			for key, o := range seen {
				if want := key/2%2 == 1; o.Read != metrics.NoWrite != want {
					t.Errorf("key %d: value %d, want one: %t", key, o.Read, want)
				}
			}
			if puts := services[0].Counts()["client"].Puts + services[1].Counts()["client"].Puts; puts != 4 {
				t.Errorf("%d puts are counted, want 4", puts)
			}
		})
	}
}
