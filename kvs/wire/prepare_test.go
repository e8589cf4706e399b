package wire

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/engine"
)

// told collects what a server is told to expect.
type told struct {
	mu  sync.Mutex
	all []kvs.Expected
}

func (l *told) prepare(x kvs.Expected) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, x)
	return time.Duration(len(l.all)) * time.Second
}

// A server hears what its clients will store, from those that belong to its run
// and say it, and its clients hear how long it took to prepare.
func TestExpected(t *testing.T) {
	var l told
	id := binaryID
	id.Prepare = l.prepare
	s := startServer(t, id, engine.NewMutex())
	x := kvs.Expected{Records: 1 << 40, KeyBytes: 255, ValueBytes: 128}
	dial := func(token string, x kvs.Expected) (Identity, error) {
		me := binaryID
		me.Token, me.Expected = token, x
		client, server, err := Dial(context.Background(), s.addr, me)
		if err == nil {
			client.Close()
		}
		return server, err
	}
	for i, want := range []time.Duration{time.Second, 2 * time.Second} {
		if server, err := dial(id.Token, x); err != nil || server.Prepared != want {
			t.Errorf("client %d: the server took %v, %v; want %v", i, server.Prepared, err, want)
		}
	}
	if server, err := dial(id.Token, kvs.Expected{}); err != nil || server.Prepared != 0 {
		t.Errorf("a client that says nothing: %v, %v", server.Prepared, err)
	}
	if _, err := dial("a guess", x); !errors.Is(err, ErrRefused) {
		t.Errorf("a stranger: %v", err)
	}
	for _, wrong := range []kvs.Expected{{Records: 1, KeyBytes: -1}, {KeyBytes: kvs.MaxKeyLen + 1}, {ValueBytes: -5}, {ValueBytes: kvs.MaxValueLen + 1}} {
		if _, err := dial(id.Token, wrong); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "are possible") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if len(l.all) != 2 || l.all[0] != x || l.all[1] != x {
		t.Errorf("the server was told %+v", l.all)
	}
}

// A stranger is not prepared for, even by a server that finds it out last.
func TestStrangerIsNotPreparedFor(t *testing.T) {
	var l told
	id := binaryID
	id.Prepare = l.prepare
	s := startServer(t, id, engine.NewMutex())
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tell(t, conn, hello{Protocol: protocol, Codec: "binary", Nonce: newNonce(), Expected: kvs.Expected{Records: 1 << 30}})
	var c challenge
	hear(t, conn, &c)
	tell(t, conn, answer{Proof: c.Proof})
	var w welcome
	hear(t, conn, &w)
	if w.Error == "" || w.PreparedNs != 0 || len(l.all) != 0 {
		t.Errorf("the stranger is told %+v, the server %+v", w, l.all)
	}
}
