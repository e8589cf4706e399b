package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// clumsy fails a number of accepts before each that succeeds.
type clumsy struct {
	net.Listener
	failures int
	failed   int
}

func (c *clumsy) Accept() (net.Conn, error) {
	if c.failed++; c.failed <= c.failures {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	c.failed = 0
	return c.Listener.Accept()
}

// log is the lines that a listener has logged.
type log struct {
	mu    sync.Mutex
	lines []string
}

func (l *log) logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// startListener runs a listener over inner until the test ends.
func startListener(t *testing.T, inner func(net.Listener) net.Listener, e kvs.Engine, most int) (*listener, *log) {
	t.Helper()
	return startModel(t, "conn", inner, e, config{Options: wire.Options{Hello: wire.Hello{Node: "node0", Codec: "binary"}}, MaxConnections: most})
}

// startModel returns startListener with a model.
func startModel(t testing.TB, text string, inner func(net.Listener) net.Listener, e kvs.Engine, c config) (*listener, *log) {
	t.Helper()
	model, err := OpenModel(text)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	lines := &log{}
	l := &listener{
		Listener: model.Listener(inner(socket)), config: c, service: service.New(e), model: model,
		logf: lines.logf, conns: map[net.Conn]bool{},
	}
	done := make(chan error, 1)
	go func() { done <- l.run(context.Background()) }()
	t.Cleanup(func() {
		if err := errors.Join(l.stop(), l.stop(), <-done); err != nil {
			t.Errorf("stop: %v", err)
		}
		if n := l.service.Conns(); n != 0 {
			t.Errorf("%d sessions after stop", n)
		}
		model.Stop()
	})
	return l, lines
}

func plain(l net.Listener) net.Listener { return l }

// dial tries once.
func dial(l *listener) (*wire.Client, error) {
	client, _, err := wire.Dial(context.Background(), l.Addr().String(), wire.Options{Hello: wire.Hello{Node: "node1", Codec: "binary"}})
	return client, err
}

func mustDial(t *testing.T, l *listener) *wire.Client {
	t.Helper()
	client, err := dial(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// put stores a key and fails the test if that fails.
func put(t *testing.T, client *wire.Client, key string) {
	t.Helper()
	var batch kvs.Batch
	batch.Append(kvs.Put, []byte(key), []byte("value"))
	call := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
	client.Send(&call)
	if err := client.Wait(&call); err != nil {
		t.Fatal(err)
	}
}

// eventually polls until ok, or fails the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 2 min", what)
		}
	}
}

// An accept that fails, as when files run out, is logged and tried again.
func TestAcceptErrors(t *testing.T) {
	l, lines := startListener(t, func(inner net.Listener) net.Listener { return &clumsy{Listener: inner, failures: 3} }, engine.NewMutex(), 10)
	for i := range 3 {
		put(t, mustDial(t, l), fmt.Sprint(i))
	}
	if got := lines.String(); strings.Count(got, "accept: accept: too many open files; retry in 5ms") < 3 {
		t.Errorf("the log is\n%s\nwant each row of failures to begin with a pause of 5 ms", got)
	}
	if counts := l.service.Counts()["node1"]; counts.Puts != 3 {
		t.Errorf("%d puts, want 3", counts.Puts)
	}
}

// The first connection beyond the cap is refused with a line in the log; when
// one has gone there is room again.
func TestConnectionCap(t *testing.T) {
	l, lines := startListener(t, plain, engine.NewMutex(), 2)
	goes, stays := mustDial(t, l), mustDial(t, l)
	if client, err := dial(l); err == nil {
		client.Close()
		t.Fatal("a third connection was admitted")
	}
	if got := lines.String(); !strings.Contains(got, "2 connections are open (-max-connections)") {
		t.Errorf("the log is %q", got)
	}
	goes.Close()
	var third *wire.Client
	eventually(t, "room for another connection", func() bool {
		var err error
		third, err = dial(l)
		return err == nil
	})
	defer third.Close()
	put(t, third, "third")
	put(t, stays, "second")
}

// first receives one connection, the first.
func TestFirstConnection(t *testing.T) {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var told []net.Addr
	l := &listener{
		Listener: socket, config: config{Options: wire.Options{Hello: wire.Hello{Node: "node0", Codec: "binary"}}, MaxConnections: 10}, service: service.New(engine.NewMutex()), model: PerConn,
		logf: t.Logf, first: func(a net.Addr) { told = append(told, a) }, conns: map[net.Conn]bool{},
	}
	done := make(chan error, 1)
	go func() { done <- l.run(context.Background()) }()
	for i := range 3 {
		put(t, mustDial(t, l), fmt.Sprint(i))
	}
	if err := errors.Join(l.stop(), <-done); err != nil {
		t.Error(err)
	}
	if len(told) != 1 || !strings.HasPrefix(told[0].String(), "127.0.0.1:") {
		t.Errorf("told of %v, want one address", told)
	}
}

// A connection that ends badly is logged with its client's name and leaves the
// others alone.
func TestBadConnectionIsLogged(t *testing.T) {
	l, lines := startListener(t, plain, engine.NewMutex(), 10)
	good := mustDial(t, l)
	bad, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(bad, "GET / HTTP/1.1\r\n\r\n")
	bad.(*net.TCPConn).CloseWrite()
	io.Copy(io.Discard, bad)
	bad.Close()
	eventually(t, "a line in the log", func() bool { return strings.Contains(lines.String(), "unknown protocol") })
	put(t, good, "key")
}

// stop ends every connection, waits for it, and admits none any more.
func TestStop(t *testing.T) {
	l, lines := startListener(t, plain, engine.NewMutex(), 10)
	client := mustDial(t, l)
	put(t, client, "key")
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
	if n, counts := l.service.Conns(), l.service.Counts()["node1"]; n != 0 || counts.Puts != 1 {
		t.Errorf("%d sessions and %d puts, want none and 1", n, counts.Puts)
	}
	if _, err := dial(l); err == nil {
		t.Error("a connection after stop")
	}
	near, far := net.Pipe()
	defer near.Close()
	if l.admit(far) {
		t.Error("a connection that was accepted before stop was admitted after it")
	}
	if got := lines.String(); got != "" {
		t.Errorf("the log is %q: connections that stop ends are no news", got)
	}
}

// slow is an engine that says when it has been called and answers when it may.
type slow struct {
	kvs.Engine
	called, answer chan struct{}
}

func (s slow) Apply(ops []kvs.Op, reply *kvs.Reply) {
	close(s.called)
	<-s.answer
	s.Engine.Apply(ops, reply)
}

// stop waits for a call that is being executed: after it the counts are final.
func TestStopWaits(t *testing.T) {
	e := slow{engine.NewMutex(), make(chan struct{}), make(chan struct{})}
	l, _ := startListener(t, plain, e, 10)
	client := mustDial(t, l)
	var batch kvs.Batch
	batch.Append(kvs.Put, []byte("key"), []byte("value"))
	call := kvs.Call{Batch: &batch, Reply: new(kvs.Reply)}
	client.Send(&call)
	<-e.called
	stopped := make(chan error, 1)
	go func() { stopped <- l.stop() }()
	select {
	case err := <-stopped:
		close(e.answer)
		t.Fatalf("stop returned with a call in flight, error %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(e.answer)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if n := l.service.Counts()["node1"].Puts; n != 1 {
		t.Errorf("%d puts after stop, want 1", n)
	}
}
