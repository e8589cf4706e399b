package server

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// parkedConns is how many connections are parked.
func parkedConns(l *listener) int {
	p := l.model.(*parked)
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// Connections without a request are parked, whatever they have sent before, and have no
// goroutine. They are served again when they send the next one, with and without TLS.
func TestParked(t *testing.T) {
	const conns = 30
	for _, secure := range []bool{false, true} {
		c := serving()
		if secure {
			c.TLS = encrypted(t)
		}
		l, _ := startModel(t, "parked", plain, engine.NewMutex(), c)
		var all []*wire.Client
		for range conns {
			all = append(all, client(t, l.Addr().String(), c.Options))
		}
		eventually(t, "parked connections", func() bool { return parkedConns(l) == conns })
		goroutines := runtime.NumGoroutine()
		for round := range 5 {
			var callers sync.WaitGroup
			for i, conn := range all {
				callers.Go(func() {
					if err := swaps(conn, fmt.Sprint(round, i), 20, 1+i%10); err != nil {
						t.Error(err)
					}
				})
			}
			callers.Wait()
			eventually(t, "parked connections again", func() bool { return parkedConns(l) == conns })
			eventually(t, "the end of their goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
		}
		for _, conn := range all[:conns/2] {
			conn.Close()
		}
		eventually(t, "the end of those that are closed", func() bool { return parkedConns(l) == conns-conns/2 && l.service.Conns() == conns-conns/2 })
	}
}

// A session's parked connection is superseded at once, as it executes no call.
func TestParkedIsSuperseded(t *testing.T) {
	l, _ := startModel(t, "parked", plain, engine.NewMutex(), serving())
	o := serving().Options
	o.Node, o.Retry = "node1", true
	for connection := range uint64(50) {
		o.Session = service.Session{Client: "0123456789abcdef", Connection: connection + 1, Window: 1, Keep: time.Minute}
		begun := time.Now()
		conn, _, err := wire.Dial(context.Background(), l.Addr().String(), o)
		if err != nil {
			t.Fatalf("connection %d: %v after %v", connection, err, time.Since(begun))
		}
		defer conn.Close()
		eventually(t, "its place", func() bool { return parkedConns(l) == 1 })
	}
}
