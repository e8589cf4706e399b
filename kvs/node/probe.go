// A probe is what a node finds out about its machine before a run. It changes
// nothing on the machine. From the first question about facts the node listens
// on the addresses that servers will use, so that the other nodes can try them;
// when its standard input closes it stops listening and ends.

package node

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/clock"
	"kvlab/metrics/usage"
)

// Question is what a Clock, Facts or Dial command asks.
type Question struct {
	Data   string   `json:"data,omitempty"`   // with Facts: the node's data address, without a port
	Route  string   `json:"route,omitempty"`  // with Facts: another node's data address; "" when there is none
	Listen []string `json:"listen,omitempty"` // with Facts: host:port of the servers to be
	Peers  []string `json:"peers,omitempty"`  // with Dial: host:port where other nodes listen
}

// Answer is what an Answered event says.
type Answer struct {
	ReceivedNS int64 `json:"received_ns,omitempty"` // to Clock: when the question came, in Unix time
	SentNS     int64 `json:"sent_ns,omitempty"`     // to Clock: when the answer goes

	// To Clock: the same by CLOCK_MONOTONIC, no earlier than it came and no later
	// than it goes.
	ReceivedMonotonicNS int64 `json:"received_monotonic_ns,omitempty"`
	SentMonotonicNS     int64 `json:"sent_monotonic_ns,omitempty"`

	Facts     *metrics.Facts `json:"facts,omitempty"`
	Listening string         `json:"listening,omitempty"`  // with Facts: where other nodes reach this one
	DataError string         `json:"data_error,omitempty"` // with Facts: why Data or the way to Route will not do

	RTTs []RTT `json:"rtts,omitempty"` // to Dial: of every peer, in order
}

// RTT is the round-trip time to one peer.
type RTT struct {
	US    float64 `json:"us"` // microseconds
	Error string  `json:"error,omitempty"`
}

// probe is what a node holds between questions. One goroutine uses it.
type probe struct {
	listeners []net.Listener
}

func (p *probe) close() {
	for _, l := range p.listeners {
		l.Close()
	}
}

// answer answers the question of a command that came at a time.
func (p *probe) answer(ctx context.Context, c Command, at time.Time) (Answer, error) {
	var q Question
	if c.Question != nil {
		q = *c.Question
	}
	switch c.Do {
	case Clock:
		return clocks(at)
	case Facts:
		return p.facts(q)
	}
	return Answer{RTTs: dial(ctx, q.Peers)}, nil
}

// clocks reads both clocks, for a question that came at a time.
func clocks(at time.Time) (Answer, error) {
	c, err := clock.New()
	if err != nil {
		return Answer{}, err
	}
	now := time.Now()
	return Answer{
		ReceivedNS: at.UnixNano(), ReceivedMonotonicNS: c.Ns(at) + c.ErrorNs,
		SentNS: now.UnixNano(), SentMonotonicNS: c.Ns(now) - c.ErrorNs,
	}, nil
}

// facts listens and looks around.
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

// checkData makes sure that the data address is this machine's, where the other
// nodes reach this one, and that its interface carries what is sent to them.
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
	carrier, err := usage.InterfaceFor(peer)
	if err == nil && carrier != data && !peer.IsLoopback() {
		err = fmt.Errorf("traffic to %s leaves by %s, and %s is on %s", q.Route, carrier, q.Data, data)
	}
	return err
}

// listen takes an address. Whoever connects wants no more than the handshake,
// and closes first: the address stays free of connections in TIME_WAIT.
func (p *probe) listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err // it says listen, the address and why
	}
	p.listeners = append(p.listeners, l)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if conn.SetDeadline(time.Now().Add(dialTimeout)) == nil {
					_, _ = conn.Read(make([]byte, 1)) // whatever ends it, the peer is done
				}
			}()
		}
	}()
	return nil
}
