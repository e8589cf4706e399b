package wire

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// revenant is a server that can be started again, with an empty store, on the
// same port.
type revenant struct {
	addr   string
	socket *wiretest.Server

	mu      sync.Mutex
	options Options          // guarded by mu
	service *service.Service // guarded by mu
}

func newRevenant(t *testing.T, options Options, e kvs.Engine) *revenant {
	t.Helper()
	r := &revenant{options: options, service: service.New(e)}
	r.socket = wiretest.Start(t, func(conn net.Conn) {
		r.mu.Lock()
		service, options := r.service, r.options
		r.mu.Unlock()
		_ = serve(conn, options, service)
	})
	r.addr = r.socket.Addr().String()
	return r
}

// restart ends every connection, and returns the service that follows.
func (r *revenant) restart() *service.Service {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.service = service.New(engine.NewMutex())
	r.socket.Cut()
	return r.service
}

func (r *revenant) setToken(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.options.Token = token
}

// A server that comes back with an empty store is noticed, by a session and by a
// client that has met it before and connects again; nothing is applied to it.
func TestServerRestarted(t *testing.T) {
	s := newRevenant(t, binaryOptions, engine.NewMutex())
	client, met, err := Dial(context.Background(), s.addr, sessionOptions(0, 1))
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
	again := binaryOptions
	again.KnownInstance = met.Instance
	_, _, other := Dial(context.Background(), s.addr, again)
	pending := within(t, "the call", func() error { return c.wait(client) })
	c.send(client)
	later := within(t, "a later call", func() error { return c.wait(client) })
	for _, err := range []error{pending, later, other} {
		var restarted *RestartedError
		if !errors.As(err, &restarted) || restarted.Node != binaryOptions.Node || restarted.Was != met.Instance || restarted.Is != second.Instance() {
			t.Errorf("error %v, want a RestartedError of both instances", err)
		}
	}
	if second.Records() != 0 {
		t.Error("a batch was applied to the empty store")
	}
	again.KnownInstance = second.Instance()
	if client, _, err := Dial(context.Background(), s.addr, again); err != nil {
		t.Error(err)
	} else {
		client.Close()
	}
}

// A session whose server is gone, or has been replaced by another run's, ends with
// the reason, in its time; one that answers nothing ends as well, as does one that
// its user closes meanwhile.
func TestSessionEnds(t *testing.T) {
	for _, test := range []struct {
		name    string
		timeout time.Duration
		after   func(t *testing.T, r *revenant, client *Client)
		want    string
	}{
		{"gone", 300 * time.Millisecond, func(t *testing.T, r *revenant, _ *Client) { r.socket.Close(); r.restart() }, "no new connection within|no reply within"},
		{"another run's", patience, func(t *testing.T, r *revenant, _ *Client) { r.setToken("later"); r.restart() }, "belongs to another run"},
		{"closed", patience, func(t *testing.T, r *revenant, client *Client) { r.socket.Close(); r.restart(); client.Close() }, "closed|shut down"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRevenant(t, binaryOptions, engine.NewMutex())
			options := sessionOptions(0, 1)
			options.CallTimeout = test.timeout
			client := dial(t, r.addr, options)
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
			poll(t, "the session's goroutines are left", func() bool { return !runs("wire.Watch", "wire.(*sessionConn).watch", "rpc.(*Client).input") })
		})
	}
}
