package driver_test

import (
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"strings"
	"sync/atomic"
	"testing"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/cache"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/drivertest"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// serve starts a server over an engine, and returns its address.
func serve(t *testing.T, e kvs.Engine) string {
	s := service.New(e)
	options := wire.Options{Hello: wire.Hello{Node: "server0", Codec: wire.Codecs[0]}}
	return wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, options, s, server.PerConn) }).Addr().String()
}

// drivers opens each driver over an engine.
var drivers = map[string]func(*testing.T, kvs.Engine) driver.Driver{
	"inproc": func(_ *testing.T, e kvs.Engine) driver.Driver { return driver.OpenEngine(e) },
	"tcp":    func(t *testing.T, e kvs.Engine) driver.Driver { return dialing(t, serve(t, e), driver.Use{}) },
	"tcp shared": func(t *testing.T, e kvs.Engine) driver.Driver {
		return dialing(t, serve(t, e), driver.Use{Shared: true})
	},
	"tcp retry": func(t *testing.T, e kvs.Engine) driver.Driver {
		o := drivertest.Options()
		o.Hosts, o.Retry = []string{serve(t, e)}, true
		return opened(t, o, driver.Use{CallsInFlight: 64})
	},
	"tcp cached": func(t *testing.T, e kvs.Engine) driver.Driver {
		o := drivertest.Options()
		o.Hosts, o.Cached = []string{serve(t, e)}, cache.All
		return opened(t, o, driver.Use{Records: 100, Longest: 100})
	},
}

// dialing returns the driver of kvlab's server at an address.
func dialing(t *testing.T, addr string, u driver.Use) driver.Driver {
	o := drivertest.Options()
	o.Hosts = []string{addr}
	return opened(t, o, u)
}

func opened(t *testing.T, o driver.Options, u driver.Use) driver.Driver {
	t.Helper()
	if err := o.Validate(u); err != nil {
		t.Fatal(err)
	}
	d, err := driver.Open(o, u)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDrivers(t *testing.T) {
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, func(t *testing.T) driver.Driver { return open(t, engine.NewSyncMap()) },
				kvs.Get, kvs.Put, kvs.ReadModifyWrite, kvs.Insert, kvs.Delete)
		})
	}
}

func TestCuts(t *testing.T) {
	for _, test := range []struct {
		retry  bool
		cached cache.Size
	}{{false, 0}, {true, 0}, {true, cache.All}} {
		t.Run(fmt.Sprintf("retry %t, cache %s", test.retry, &test.cached), func(t *testing.T) {
			t.Parallel() // it mostly waits
			drivertest.Cuts(t, serve(t, engine.NewSyncMap()), func(t *testing.T, addr string) driver.Driver {
				o := drivertest.Options()
				o.Hosts, o.Retry, o.Cached = []string{addr}, test.retry, test.cached
				return opened(t, o, driver.Use{CallsInFlight: 2, Records: 100, Longest: 100})
			}, kvs.Get, kvs.Put, kvs.ReadModifyWrite, kvs.Insert, kvs.Delete)
		})
	}
}

// failing is an engine that panics on a batch with the key "panic".
type failing struct{ kvs.Engine }

func (e failing) Apply(ops []kvs.Op, reply *kvs.Reply) {
	if string(ops[0].Key) == "panic" {
		panic("as the test wants it")
	}
	e.Engine.Apply(ops, reply)
}

// An error of the server ends a call, and leaves its connection usable.
func TestServerError(t *testing.T) {
	for name, open := range drivers {
		t.Run(name, func(t *testing.T) {
			d := open(t, failing{engine.NewSyncMap()})
			conn := drivertest.Dial(t, d, 0)
			_, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Get, Key: []byte("panic")})
			if err == nil || !strings.Contains(err.Error(), "as the test wants it") {
				t.Errorf("error %v, want the server's", err)
			}
			var answered rpc.ServerError
			if name != "inproc" && !errors.As(err, &answered) {
				t.Errorf("error %T, want rpc.ServerError", err)
			}
			if why := d.Explain(t.Context(), 0, err); why != nil {
				t.Errorf("the error is explained by %v", why)
			}
			if _, err := drivertest.Do(conn, kvs.Op{Kind: kvs.Put, Key: []byte("k")}); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// A server whose engine lacks a kind of the client's refuses it in one line, as an engine
// in the process does.
func TestKindRefused(t *testing.T) {
	row, err := engine.Find("syncmap")
	if err != nil {
		t.Fatal(err)
	}
	e := service.New(engine.NewSyncMap())
	options := wire.Options{Hello: wire.Hello{Node: "server0", Codec: wire.Codecs[0]}, CheckKinds: row.CheckKinds}
	addr := wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, options, e, server.PerConn) }).Addr().String()
	connect := map[string]func([]kvs.Kind) error{
		driver.TCP: func(kinds []kvs.Kind) error {
			conn, _, err := dialing(t, addr, driver.Use{Kinds: kinds}).Dial(t.Context(), 0, 0)
			if err == nil {
				conn.Close()
			}
			return err
		},
		driver.InProcess: func(kinds []kvs.Kind) error {
			o := drivertest.Options()
			o.Transport, o.Engine = driver.InProcess, row.Name
			return o.Validate(driver.Use{Kinds: kinds})
		},
	}
	for name, connect := range connect {
		if err := connect([]kvs.Kind{kvs.Get, kvs.Put, kvs.ReadModifyWrite, kvs.Insert, kvs.Delete}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		err := connect([]kvs.Kind{kvs.Get, kvs.Scan, kvs.ScanPart})
		if err == nil || !strings.Contains(err.Error(), "-engine syncmap has no scan: want -engine btree") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line that names engine and kind", name, err)
		}
		if name == driver.TCP && !errors.Is(err, wire.ErrRefused) {
			t.Errorf("error %v, want a refusal", err)
		}
	}
}

// A server whose engine has no versions refuses a client with a cache in one line, and no other.
func TestCacheRefused(t *testing.T) {
	for _, name := range engine.Names {
		row, err := engine.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		s := service.New(engine.NewMutex()) // the client is refused before its first call
		options := wire.Options{Hello: wire.Hello{Node: "server0", Codec: wire.Codecs[0]}, Unversioned: row.CheckVersions()}
		addr := wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, options, s, server.PerConn) }).Addr().String()
		for _, cached := range []cache.Size{0, cache.All} {
			o := drivertest.Options()
			o.Hosts, o.Cached = []string{addr}, cached
			conn, _, err := opened(t, o, driver.Use{Records: 1}).Dial(t.Context(), 0, 0)
			if err == nil {
				conn.Close()
			}
			refused := errors.Is(err, wire.ErrRefused) && strings.Contains(err.Error(), "(server0): -cache: -engine "+name+" keeps no versions of its values: want -engine syncmap or slab") && !strings.Contains(err.Error(), "\n")
			if want := cached != 0 && name != "syncmap" && name != "slab"; err != nil != want || want != refused {
				t.Errorf("%s, cache %s: error %v", name, &cached, err)
			}
		}
	}
}

// A server that was restarted between the Dials of two lanes is noticed.
func TestRestartedBetweenDials(t *testing.T) {
	var store atomic.Pointer[service.Service]
	store.Store(service.New(engine.NewMutex()))
	options := wire.Options{Hello: wire.Hello{Node: "server0", Codec: wire.Codecs[0]}}
	addr := wiretest.Start(t, func(conn net.Conn) { _ = server.Serve(conn, options, store.Load(), server.PerConn) }).Addr().String()
	d := dialing(t, addr, driver.Use{})
	drivertest.Dial(t, d, 0)
	store.Store(service.New(engine.NewMutex()))
	var restarted *wire.RestartedError
	if _, _, err := d.Dial(t.Context(), 0, 1); !errors.As(err, &restarted) || restarted.Node != "server0" {
		t.Errorf("error %v, want a RestartedError", err)
	}
}
