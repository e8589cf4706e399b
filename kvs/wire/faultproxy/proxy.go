package faultproxy

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Proxy passes connections on to one server, with faults. It is safe for
// concurrent use.
type Proxy struct {
	listener *net.TCPListener
	server   string
	seed     uint64
	plan     func(conn int) []Fault

	mu     sync.Mutex
	conns  map[*net.TCPConn]bool // guarded by mu, as all below
	closed bool
	struck []Fault
	done   sync.WaitGroup
}

// Start begins to pass connections to a port on loopback on to server. plan says
// what happens to the n-th connection, from 0. seed fixes the jitter.
func Start(server string, seed uint64, plan func(conn int) []Fault) (*Proxy, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: listener, server: server, seed: seed, plan: plan, conns: make(map[*net.TCPConn]bool)}
	p.done.Go(p.accept)
	return p, nil
}

// Addr is where clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Struck returns the faults that have happened so far. A test whose fault never
// came has proved nothing.
func (p *Proxy) Struck() []Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Fault(nil), p.struck...)
}

// Close ends the proxy and every connection.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.done.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("close the proxy: %w", err)
	}
	return nil
}

func (p *Proxy) accept() {
	for n := 0; ; n++ {
		client, err := p.listener.AcceptTCP()
		if err != nil {
			return // closed
		}
		p.done.Go(func() { p.serve(client, n) })
	}
}

// serve carries one connection until both ways are over.
func (p *Proxy) serve(client *net.TCPConn, n int) {
	defer client.Close()
	conn, err := net.Dial("tcp", p.server)
	if err != nil {
		return // the client sees its connection closed
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	if !p.keep(client, server) {
		return
	}
	defer p.forget(client, server)
	faults := p.plan(n)
	var both sync.WaitGroup
	for way, ends := range [ways][2]*net.TCPConn{ToServer: {client, server}, ToClient: {server, client}} {
		rng := rand.New(rand.NewPCG(p.seed, uint64(n)<<1|uint64(way)))
		both.Go(func() { p.carry(ends[0], ends[1], newPassage(faults, Way(way), rng, p.note)) })
	}
	both.Wait()
}

func (p *Proxy) keep(conns ...*net.TCPConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		p.conns[conn] = true
	}
	return !p.closed
}

func (p *Proxy) forget(conns ...*net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range conns {
		delete(p.conns, conn)
	}
}

func (p *Proxy) note(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck = append(p.struck, f)
}

// window is how many parcels of one direction are under way: what a link's
// delay holds. A sender who is faster waits.
const window = 1024

// carry carries one direction: here what comes, in a goroutine what leaves.
func (p *Proxy) carry(from, to *net.TCPConn, passage *passage) {
	parcels := make(chan parcel, window)
	left := make(chan struct{})
	go func() {
		defer close(left)
		deliver(parcels, from, to)
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for _, parcel := range passage.pass(buf[:n], time.Now()) {
			parcels <- parcel
		}
		if err != nil {
			break
		}
	}
	parcels <- passage.rest(time.Now())
	close(parcels)
	<-left
}

// deliver sends each parcel when it is due. After an end, or when to takes no
// more, it throws away what still comes.
func deliver(parcels <-chan parcel, from, to *net.TCPConn) {
	over := false
	for parcel := range parcels {
		if over {
			continue
		}
		time.Sleep(time.Until(parcel.due))
		if parcel.ends {
			finish(parcel.end, from, to)
			over = true
			continue
		}
		over = send(to, parcel) != nil
	}
	if !over {
		to.CloseWrite() // from has ended in order, or is broken: to's own reads tell it which
	}
}

// send writes a parcel at its rate, in pieces of a hundredth of a second.
func send(to io.Writer, p parcel) error {
	if p.rate == 0 {
		_, err := to.Write(p.data)
		return err
	}
	piece := max(1, p.rate/100)
	for len(p.data) > 0 {
		n := min(piece, len(p.data))
		if _, err := to.Write(p.data[:n]); err != nil {
			return err
		}
		time.Sleep(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
		p.data = p.data[n:]
	}
	return nil
}

// finish ends both connections as a fault asks, or neither. After an orderly end
// their further bytes are still read: a close would reset them.
func finish(kind Kind, conns ...*net.TCPConn) {
	for _, conn := range conns {
		switch kind {
		case Cut:
			conn.SetLinger(0)
			conn.Close()
		case Truncate:
			conn.CloseWrite()
		}
	}
}
