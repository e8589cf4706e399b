package faultproxy

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"kvlab/internal/wiretest"
)

// Proxy passes connections on to one server, with faults, until its test ends. It is
// safe for concurrent use.
type Proxy struct {
	addr string

	mu     sync.Mutex
	struck []Fault       // guarded by mu
	ends   [ways][]int64 // guarded by mu
}

// Start passes connections to a port on loopback on to server. plan returns the faults
// of the n-th connection, from 0, in the order of their bytes.
func Start(t testing.TB, server string, plan func(conn int) []Fault) *Proxy {
	t.Helper()
	p := new(Proxy)
	var conns atomic.Int64
	p.addr = wiretest.Start(t, func(client net.Conn) {
		n := int(conns.Add(1)) - 1
		conn, err := net.Dial("tcp", server)
		if err != nil {
			return // the client sees its connection closed
		}
		defer conn.Close()
		stop := context.AfterFunc(t.Context(), func() { conn.Close() })
		defer stop()
		p.serve(client.(*net.TCPConn), conn.(*net.TCPConn), plan(n), n == 0)
	}).Addr().String()
	return p
}

// serve carries one connection until both directions have ended. Of the first it notes the
// ends of what it reads.
func (p *Proxy) serve(client, server *net.TCPConn, faults []Fault, first bool) {
	var both sync.WaitGroup
	for way, ends := range [ways][2]*net.TCPConn{ToServer: {client, server}, ToClient: {server, client}} {
		of := slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return f.Way != Way(way) })
		carrier := &passage{from: ends[0], to: ends[1], faults: of, note: p.note, read: func(int64) {}}
		if first {
			carrier.read = func(at int64) { p.noteEnd(Way(way), at) }
		}
		both.Go(carrier.carry)
	}
	both.Wait()
}

// Addr returns where clients connect to.
func (p *Proxy) Addr() string { return p.addr }

// Struck returns the faults that have happened so far. A test whose fault did not
// happen has proved nothing.
func (p *Proxy) Struck() []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.struck)
}

func (p *Proxy) note(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck = append(p.struck, f)
}

// Ends returns how many bytes of the first connection each read had ended with, by way. The
// end of a message that is answered before the next one is among them.
func (p *Proxy) Ends(way Way) []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ends[way])
}

func (p *Proxy) noteEnd(way Way, at int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends[way] = append(p.ends[way], at)
}
