package models

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"kvlab/kvs/engine"
	"kvlab/kvs/server/modeltest"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// parkedConns returns the number of connections that are parked.
func parkedConns(s *modeltest.Server) int {
	p := s.Model.(*parked)
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// Connections without a request are parked, whatever they have sent before, and have no
// goroutine. They are served again when they send the next one, with and without TLS.
func TestParked(t *testing.T) {
	const conns = 30
	for _, secure := range []bool{false, true} {
		o := modeltest.Options()
		if secure {
			o.TLS = modeltest.Encrypted(t)
		}
		s := modeltest.Start(t, "parked", engine.NewMutex(), o)
		var all []*wire.Client
		for range conns {
			all = append(all, modeltest.Dial(t, s.Addr().String(), o))
		}
		modeltest.Eventually(t, "parked connections", func() bool { return parkedConns(s) == conns })
		goroutines := runtime.NumGoroutine()
		for round := range 5 {
			var callers sync.WaitGroup
			for i, conn := range all {
				callers.Go(func() {
					if err := modeltest.Swaps(conn, fmt.Sprint(round, i), 20, 1+i%10); err != nil {
						t.Error(err)
					}
				})
			}
			callers.Wait()
			modeltest.Eventually(t, "parked connections again", func() bool { return parkedConns(s) == conns })
			modeltest.Eventually(t, "the end of their goroutines", func() bool { return runtime.NumGoroutine() <= goroutines })
		}
		for _, conn := range all[:conns/2] {
			conn.Close()
		}
		modeltest.Eventually(t, "the end of those that are closed", func() bool { return parkedConns(s) == conns-conns/2 && s.Service.Conns() == conns-conns/2 })
	}
}

// A session's parked connection is superseded at once, as it executes no call.
func TestParkedIsSuperseded(t *testing.T) {
	s := modeltest.Start(t, "parked", engine.NewMutex(), modeltest.Options())
	o := modeltest.Options()
	o.Node, o.Retry = "node1", true
	for connection := range uint64(50) {
		o.Session = service.Session{Client: "0123456789abcdef", Connection: connection + 1, Window: 1, Keep: time.Minute}
		begun := time.Now()
		conn, _, err := wire.Dial(context.Background(), s.Addr().String(), o)
		if err != nil {
			t.Fatalf("connection %d: %v after %v", connection, err, time.Since(begun))
		}
		defer conn.Close()
		modeltest.Eventually(t, "its place", func() bool { return parkedConns(s) == 1 })
	}
}
