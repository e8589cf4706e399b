// A probe is what a program finds out about its machine before a run.
//
// The launcher starts the program with the single flag -probe, here or through
// ssh, and owns its standard input and output. Each line on either is one JSON
// object: a Question towards the node, an Answer from it, in the same order.
// The probe changes nothing on the machine. From the first question about facts
// it listens on the addresses that servers will use, so that the other nodes
// can try them; when its standard input closes it stops listening and ends.

package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"kvlab/metrics"
	"kvlab/metrics/clock"
	"kvlab/metrics/usage"
)

// The questions.
const (
	Clock = "clock" // what time is it?
	Facts = "facts" // what is this machine?
	Dial  = "dial"  // how far away are Peers?
)

// Question is one line from the launcher to a node.
type Question struct {
	Ask    string   `json:"ask"`
	Data   string   `json:"data,omitempty"`   // with Facts: the node's data address, without a port
	Route  string   `json:"route,omitempty"`  // with Facts: another node's data address; "" when there is none
	Listen []string `json:"listen,omitempty"` // with Facts: host:port of the servers to be
	Peers  []string `json:"peers,omitempty"`  // with Dial: host:port of other nodes' probes
}

// Answer is one line from a node to the launcher.
type Answer struct {
	// Probe is Protocol in every answer: it tells an answer from what a login
	// shell prints.
	Probe string `json:"probe"`
	Error string `json:"error,omitempty"` // why there is no answer; the probe ends

	ReceivedNS int64 `json:"received_ns,omitempty"` // to Clock: when the question came, in Unix time
	SentNS     int64 `json:"sent_ns,omitempty"`     // to Clock: when the answer goes

	// To Clock: the same by CLOCK_MONOTONIC, no earlier than it came and no later
	// than it goes.
	ReceivedMonotonicNS int64 `json:"received_monotonic_ns,omitempty"`
	SentMonotonicNS     int64 `json:"sent_monotonic_ns,omitempty"`

	Facts     *metrics.Facts `json:"facts,omitempty"`
	Listening string         `json:"listening,omitempty"`  // with Facts: where other probes reach this one
	DataError string         `json:"data_error,omitempty"` // with Facts: why Data or the way to Route will not do

	RTTs []RTT `json:"rtts,omitempty"` // to Dial: of every peer, in order
}

// RTT is the round-trip time to one peer.
type RTT struct {
	US    float64 `json:"us"` // microseconds
	Error string  `json:"error,omitempty"`
}

// Protocol is the Probe of every Answer.
const Protocol = "kvlab 1"

// lifetime is how long a probe stays when its launcher neither asks nor goes.
const lifetime = 2 * time.Minute

// Serve answers the questions on in until it closes, ctx ends, or nothing has
// been asked for two minutes. The error is of a question that it cannot
// read or answer.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	questions := make(chan arrival)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go read(ctx, in, questions)
	clock, err := clock.New()
	if err != nil {
		return err
	}
	s := session{clock: clock}
	defer s.close()
	for {
		select {
		case a := <-questions:
			if errors.Is(a.err, io.EOF) {
				return nil
			}
			answer, err := s.answer(ctx, a)
			if err != nil {
				answer = Answer{Error: err.Error()}
			}
			if err := errors.Join(err, s.send(out, answer)); err != nil {
				return err
			}
		case <-time.After(lifetime):
			return fmt.Errorf("the launcher has asked nothing for %v", lifetime)
		case <-ctx.Done():
			return nil
		}
	}
}

// arrival is a question, or the error that reading it has met.
type arrival struct {
	question Question
	at       time.Time
	err      error
}

func read(ctx context.Context, in io.Reader, questions chan<- arrival) {
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var a arrival
		a.err = lines.Decode(&a.question)
		a.at = time.Now()
		select {
		case questions <- a:
		case <-ctx.Done():
			return
		}
		if a.err != nil {
			return
		}
	}
}

func (s *session) send(out io.Writer, a Answer) error {
	a.Probe = Protocol
	if a.ReceivedNS != 0 {
		now := time.Now()
		a.SentNS, a.SentMonotonicNS = now.UnixNano(), s.clock.Ns(now)-s.clock.ErrorNs
	}
	line, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("send an answer: %w", err)
	}
	return nil
}

// session is what a probe holds between questions.
type session struct {
	clock     clock.Clock
	listeners []net.Listener
}

func (s *session) close() {
	for _, l := range s.listeners {
		l.Close()
	}
}

func (s *session) answer(ctx context.Context, a arrival) (Answer, error) {
	q := a.question
	switch {
	case a.err != nil:
		return Answer{}, fmt.Errorf("read a question: %w", a.err)
	case q.Ask == Clock:
		return Answer{ReceivedNS: a.at.UnixNano(), ReceivedMonotonicNS: s.clock.Ns(a.at) + s.clock.ErrorNs}, nil
	case q.Ask == Facts:
		return s.facts(q)
	case q.Ask == Dial:
		return Answer{RTTs: dial(ctx, q.Peers)}, nil
	}
	return Answer{}, fmt.Errorf("unknown question %q", q.Ask)
}

// facts listens and looks around.
func (s *session) facts(q Question) (Answer, error) {
	facts, err := thisMachine.facts(q)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Facts: &facts}
	for _, address := range q.Listen {
		port := metrics.Port{Address: address}
		if err := s.listen(address); err != nil {
			port.Error = err.Error()
			port.Owners = thisMachine.listeners(address)
		}
		facts.Ports = append(facts.Ports, port)
	}
	if err := s.checkData(q, facts.Data.Name); err != nil {
		answer.DataError = err.Error()
	}
	if len(s.listeners) > 0 {
		answer.Listening = s.listeners[0].Addr().String()
	}
	return answer, nil
}

// checkData makes sure that the data address is this machine's, where the other
// nodes reach this probe, and that its interface carries what is sent to them.
func (s *session) checkData(q Question, data string) error {
	if q.Route == "" {
		return nil
	}
	if len(s.listeners) == 0 {
		if err := s.listen(net.JoinHostPort(q.Data, "0")); err != nil {
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
func (s *session) listen(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err // it says listen, the address and why
	}
	s.listeners = append(s.listeners, l)
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
