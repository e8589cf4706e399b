// A probe examines a machine before a run. From the first question about facts on, it listens
// on the addresses that servers will use, so that other nodes can try them. It ends when its
// standard input closes.

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kvlab/metrics"
	"kvlab/metrics/clock"
	"kvlab/metrics/usage"
)

// Question is the question of a Clock, Facts or Dial command.
type Question struct {
	Data   string   `json:"data,omitempty"`   // with Facts: the node's data address, without a port
	Route  string   `json:"route,omitempty"`  // with Facts: another node's data address, or ""
	Listen []string `json:"listen,omitempty"` // with Facts: host:port of the future servers
	Peers  []string `json:"peers,omitempty"`  // with Dial: host:port where other nodes listen
}

// Answer is the answer in an Answered event.
type Answer struct {
	ReceivedNS int64 `json:"received_ns,omitempty"` // to Clock: when the question arrived, in Unix time
	SentNS     int64 `json:"sent_ns,omitempty"`     // to Clock: when the answer was sent

	// To Clock: the same by CLOCK_MONOTONIC, after the arrival and before the sending.
	ReceivedMonotonicNS int64 `json:"received_monotonic_ns,omitempty"`
	SentMonotonicNS     int64 `json:"sent_monotonic_ns,omitempty"`

	// To Clock in a run, once the node has a Reporter.
	Reading *metrics.Reading `json:"reading,omitempty"`

	Facts     *metrics.Facts `json:"facts,omitempty"`
	Listening string         `json:"listening,omitempty"`  // with Facts: where other nodes reach this one
	DataError string         `json:"data_error,omitempty"` // with Facts: what is wrong with Data or the route to Route

	RTTs []metrics.RTT `json:"rtts,omitempty"` // to Dial: of every peer, in order; the launcher knows its name
}

// probe is the state of a probe. One goroutine uses it.
type probe struct {
	listeners []net.Listener
}

func (p *probe) close() {
	for _, l := range p.listeners {
		l.Close()
	}
}

// answer answers the question of a command that arrived at a time.
func (p *probe) answer(ctx context.Context, c Command, at time.Time) (Answer, error) {
	switch c.Do {
	case Clock:
		return clocks(at), nil
	case Facts:
		return p.facts(c.Question)
	}
	return Answer{RTTs: dial(ctx, c.Question.Peers)}, nil
}

// clocks reads both clocks of the machine for a question that arrived at a time.
func clocks(at time.Time) Answer {
	c, now := clock.New(), time.Now()
	return Answer{
		ReceivedNS: at.UnixNano(), ReceivedMonotonicNS: c.Ns(at) + c.ErrorNs,
		SentNS: now.UnixNano(), SentMonotonicNS: c.Ns(now) - c.ErrorNs,
	}
}

// facts returns the machine's facts, and listens on the question's addresses.
func (p *probe) facts(q Question) (Answer, error) {
	facts, err := thisMachine.facts(q)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Facts: &facts}
	for _, address := range q.Listen {
		port := metrics.Port{Address: address}
		if err := p.listen(address); err != nil {
			port.Error = err.Error()
			port.Owners = thisMachine.listeners(address)
		}
		facts.Ports = append(facts.Ports, port)
	}
	if err := p.checkData(q, facts.Data.Name); err != nil {
		answer.DataError = err.Error()
	}
	if len(p.listeners) > 0 {
		answer.Listening = p.listeners[0].Addr().String()
	}
	return answer, nil
}

// checkData checks that the data address is this machine's, and that its interface
// carries the traffic to other nodes, which reach this one there.
func (p *probe) checkData(q Question, data string) error {
	if q.Route == "" {
		return nil
	}
	if len(p.listeners) == 0 {
		if err := p.listen(net.JoinHostPort(q.Data, "0")); err != nil {
			return err
		}
	}
	peer, err := netip.ParseAddr(q.Route)
	if err != nil {
		return err
	}
	carrier, err := usage.InterfaceFor(net.JoinHostPort(q.Route, "0"))
	if err == nil && carrier != data && !peer.IsLoopback() {
		err = fmt.Errorf("traffic to %s leaves by %s, but %s is on %s", q.Route, carrier, q.Data, data)
	}
	return err
}

// listen listens on an address. The kernel completes the handshakes, which is all that a
// peer measures; the peer resets its connection, so none stays in TIME_WAIT.
func (p *probe) listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err // it names the address
	}
	p.listeners = append(p.listeners, l)
	return nil
}

const (
	// dialTimeout bounds one handshake. A lost SYN is sent again after one second and
	// after two more (RFC 6298, section 2): on a link that loses 5 % of packets each
	// way, one handshake in 1000 fails.
	dialTimeout = 4 * time.Second
	// dials is the maximum number of handshakes with one peer.
	dials = 5
)

// dial measures the round-trip times to all peers concurrently.
func dial(ctx context.Context, peers []string) []metrics.RTT {
	rtts := make([]metrics.RTT, len(peers))
	var all sync.WaitGroup
	for i, peer := range peers {
		all.Go(func() { rtts[i] = minRTT(ctx, peer) })
	}
	all.Wait()
	return rtts
}

// minRTT returns the smallest of several round-trip times to a peer.
func minRTT(ctx context.Context, peer string) (rtt metrics.RTT) {
	for n := range dials {
		us, err := handshake(ctx, peer)
		switch {
		case err != nil && n == 0:
			return metrics.RTT{Err: err.Error()}
		case err != nil:
			return rtt
		case n == 0 || us < rtt.US:
			rtt.US = us
		}
	}
	return rtt
}

// handshake connects to peer and returns the kernel's measurement of the handshake's
// round trip, in microseconds (tcpi_rtt of TCP_INFO, tcp(7)): it excludes this process's
// scheduling. The connection is reset.
func handshake(ctx context.Context, peer string) (us float64, err error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", peer)
	if err != nil {
		return 0, err // it names the address
	}
	socket := conn.(*net.TCPConn)
	defer func() { err = errors.Join(err, socket.SetLinger(0), socket.Close()) }()
	var info *unix.TCPInfo
	var infoErr error
	raw, err := socket.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { info, infoErr = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	}
	if err := cmp.Or(err, infoErr); err != nil {
		return 0, fmt.Errorf("measure the way to %s: %w", peer, err)
	}
	return float64(info.Rtt), nil
}
