package loadgen

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/server"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

func TestMain(m *testing.M) {
	// The parallel tests wait, also on a machine of few processors.
	flag.Parse()
	flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}

// store is a server whose connections a test can cut.
type store struct {
	*wiretest.Server
	name    string
	addr    string
	engine  kvs.Engine
	service *service.Service
}

// Load is Store and then ReadBack.
func (g *Generator) Load(ctx context.Context) error {
	if err := g.Store(ctx); err != nil {
		return err
	}
	return g.ReadBack(ctx)
}

func newStore(t testing.TB, name, codec string, e kvs.Engine) *store {
	t.Helper()
	return newStoreOn(t, "127.0.0.1:0", name, codec, e)
}

func newStoreOn(t testing.TB, addr, name, codec string, e kvs.Engine) *store {
	t.Helper()
	return newStoreWith(t, addr, name, codec, e, "conn")
}

// models are the servers' execution models.
var models = []string{"conn", "pool:2"}

// newStoreWith returns newStoreOn with an execution model.
func newStoreWith(t testing.TB, addr, name, codec string, e kvs.Engine, text string) *store {
	t.Helper()
	model, err := server.OpenModel(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Stop() })
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &store{name: name, engine: e, service: service.New(e)}
	s.Server = wiretest.StartOn(t, model.Listener(socket), func(conn net.Conn) {
		_ = server.Serve(conn, wire.Options{Hello: wire.Hello{Node: name, Codec: codec}}, s.service, model)
	})
	s.addr = s.Addr().String()
	return s
}

// restart replaces the store by an empty one at the same address.
func (s *store) restart(t *testing.T, codec string) *store {
	t.Helper()
	s.Close()
	next := newStoreOn(t, s.addr, s.name, codec, engine.NewMutex())
	s.Cut()
	return next
}

// stores returns n servers and their addresses.
func newStores(t *testing.T, n int, codec string) ([]*store, []string) {
	return newStoresOf(t, n, codec, "mutex")
}

// newStoresOf returns newStores with an engine.
func newStoresOf(t *testing.T, n int, codec, name string) ([]*store, []string) {
	var all []*store
	var hosts []string
	for i := range n {
		s := newStore(t, fmt.Sprintf("server%d", i), codec, opened(t, name))
		all, hosts = append(all, s), append(hosts, s.addr)
	}
	return all, hosts
}

// within fails the test when f does not return.
func within(t testing.TB, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s does not return", what)
		return nil
	}
}

// patience is how long a slow or busy machine may take for what a fast one does at once.
const patience = 2 * time.Minute

// eventually polls until ok, or fails the test.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// sessionsEnd waits until the store has no connection.
func (s *store) sessionsEnd(t testing.TB) {
	t.Helper()
	eventually(t, "the end of the server's sessions", func() bool { return s.service.Conns() == 0 })
}
