package wire

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"kvlab/internal/wiretest"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
)

// server is a store on a loopback port for the length of one test.
type server struct {
	addr    string
	service *service.Service
	ended   chan error // what Serve returned, one connection after another
}

// serve serves a connection as kvs/server does.
func serve(socket net.Conn, options Options, service *service.Service) error {
	conn, err := Accept(socket, options, service)
	if err != nil {
		return err
	}
	defer conn.Close()
	for r := new(Request); err == nil; {
		if err = conn.Next(r); err == nil {
			r.Err = conn.Service.Answer(r.Seq, &r.Batch, &r.Reply)
			err = conn.Reply(r)
		}
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

func startServer(t testing.TB, options Options, e kvs.Engine) *server {
	t.Helper()
	s := &server{service: service.New(e), ended: make(chan error, 1000)}
	s.addr = wiretest.Start(t, func(conn net.Conn) {
		err := serve(conn, options, s.service)
		select {
		case s.ended <- err:
		default: // no test asks for more
		}
	}).Addr().String()
	return s
}

func (s *server) dial(t testing.TB, options Options) *Client {
	t.Helper()
	client, _, err := Dial(context.Background(), s.addr, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// end returns the error with which the server's next connection ends.
func (s *server) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(patience):
		t.Fatal("a connection of the server does not end")
		return nil
	}
}

func TestMain(m *testing.M) {
	// The parallel tests wait, also on a machine of few processors.
	flag.Parse()
	flag.Set("test.parallel", "8")
	os.Exit(m.Run())
}

// patience is how long a slow or busy machine may take for what a fast one does at once.
const patience = 2 * time.Minute

// within fails the test when f does not return: a call that hangs is a fault.
func within(t *testing.T, what string, f func() error) error {
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

// call sends one batch and waits for its reply.
func call(c *Client, batch *kvs.Batch) (*kvs.Reply, error) {
	one := &kvs.Call{Batch: batch, Reply: new(kvs.Reply)}
	c.Send(one)
	return one.Reply, c.Wait(one)
}

// randomBatch has operations of all kinds on few keys, and values of up to
// longest bytes.
func randomBatch(random *rand.Rand, n, longest int) *kvs.Batch {
	var b kvs.Batch
	for range n {
		key := fmt.Appendf(nil, "key%d", random.IntN(n+1))
		switch kind := kvs.Kind(random.IntN(kvs.Kinds)); {
		case kind.Writes():
			value := b.Reserve(kind, key, random.IntN(longest+1))
			for i := 0; i < len(value); i += 8 {
				var word [8]byte
				binary.LittleEndian.PutUint64(word[:], random.Uint64())
				copy(value[i:], word[:])
			}
		case kind.Scans():
			b.Scan(kind, key, 1+random.IntN(20))
		case kind == kvs.Delete:
			b.Delete(key)
		default:
			b.Get(key)
		}
	}
	return &b
}

// words writes the results of a reply down, to be compared.
func words(t *testing.T, reply *kvs.Reply) []string {
	t.Helper()
	all := make([]string, reply.Len())
	results := reply.Results()
	for i := range all {
		r, err := results.Next()
		if err != nil {
			t.Fatal(err)
		}
		all[i] = fmt.Sprintf("found %v read %v value %s", r.Found, r.Read, valueWords(r.Value))
	}
	if err := results.End(); err != nil {
		t.Fatal(err)
	}
	return all
}

// valueWords writes a value down, a long one by its length and a checksum.
func valueWords(value []byte) string {
	if len(value) > 1000 {
		return fmt.Sprintf("of %d bytes, sum %x", len(value), sha256.Sum256(value))
	}
	return strconv.Quote(string(value))
}

// blocker is an engine whose Apply waits until it is let go.
type blocker struct {
	kvs.Engine
	entered chan struct{}
	leave   chan struct{}
}

func newBlocker() *blocker {
	return &blocker{Engine: engine.NewMutex(), entered: make(chan struct{}), leave: make(chan struct{})}
}

func (b *blocker) Apply(ops []kvs.Op, reply *kvs.Reply) {
	b.entered <- struct{}{}
	<-b.leave
	b.Engine.Apply(ops, reply)
}

// rawConn connects and shakes hands, and then speaks for itself.
func (s *server) rawConn(t *testing.T, options Options) net.Conn {
	t.Helper()
	socket, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	conn, _, err := options.reach(socket, s.addr)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// checkClosed fails the test unless the other side has closed conn.
func checkClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if n, err := io.Copy(io.Discard, conn); isTimeout(err) {
		t.Errorf("the connection stays open; %d bytes came", n)
	}
}

func isTimeout(err error) bool {
	e, ok := err.(net.Error)
	return ok && e.Timeout()
}
