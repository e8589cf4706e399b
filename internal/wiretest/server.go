// Package wiretest has the server on loopback that tests of several packages start.
package wiretest

import (
	"net"
	"sync"
	"testing"
)

// Server accepts connections until its test ends.
type Server struct {
	net.Listener

	mu    sync.Mutex
	conns []net.Conn // guarded by mu
}

// Start listens on a free port of loopback, and serves each connection in a goroutine.
// At the test's end it closes the connections and waits for those goroutines.
func Start(t testing.TB, serve func(net.Conn)) *Server {
	t.Helper()
	return StartAt(t, "127.0.0.1:0", serve)
}

// StartAt is Start on an address.
func StartAt(t testing.TB, addr string, serve func(net.Conn)) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return StartOn(t, listener, serve)
}

// StartOn is Start on a listener.
func StartOn(t testing.TB, listener net.Listener, serve func(net.Conn)) *Server {
	t.Helper()
	s := &Server{Listener: listener}
	var accepting, serving sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			serving.Go(func() {
				defer conn.Close()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		s.Close()
		accepting.Wait()
		s.Cut()
		serving.Wait()
	})
	return s
}

// Cut closes every connection.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
}
