package service

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Session is how a client presents a connection that takes the place of others when
// they break, so that every call is applied once however often it is sent: calls
// are numbered over all connections of the lane, and the server remembers the
// answers that may still be asked for. It is NFSv4.1's session (RFC 8881, section
// 2.10.6) with one queue in place of slots. The zero Lane is none.
type Session struct {
	Client     string        `json:"client"`               // random, of the client's process
	Number     int           `json:"number,omitempty"`     // of the client's lanes to this server
	Connection uint64        `json:"connection"`           // of the lane, from 1; a later one ends those before it
	Window     int           `json:"window"`               // calls that are under way at most, and answers that are remembered; 1 to MaxWindow
	Next       uint64        `json:"next,omitempty"`       // number of the first call to come on this connection
	Unanswered int           `json:"unanswered,omitempty"` // calls from Next on that may have come on an earlier one
	Keep       time.Duration `json:"keep_ns"`              // how long the lane is remembered without a connection; 0 to MaxKeep
}

// Limits of a Lane.
const (
	MaxWindow = 1 << 16
	MaxKeep   = 10 * time.Minute
)

// Validate returns an error that says what is wrong with a lane.
func (l Session) Validate() error {
	switch {
	case len(l.Client) < 16 || len(l.Client) > 64:
		return fmt.Errorf("a lane's client has a name of %d bytes: want 16 to 64", len(l.Client))
	case l.Connection < 1:
		return errors.New("a lane's connections are numbered from 1")
	case l.Window < 1 || l.Window > MaxWindow:
		return fmt.Errorf("a lane with %d calls under way: want 1 to %d", l.Window, MaxWindow)
	case l.Unanswered < 0 || l.Unanswered > l.Window:
		return fmt.Errorf("a lane with %d calls unanswered, of %d under way at most", l.Unanswered, l.Window)
	case l.Keep < 0 || l.Keep > MaxKeep:
		return fmt.Errorf("a lane that is to be remembered for %v: want 0 to %v", l.Keep, MaxKeep)
	}
	return nil
}

// ErrSuperseded is wrapped by the error of a lane's connection whose place a later
// one has taken, or that could not take that of the one before it in time. The
// lane itself is as good as before.
var ErrSuperseded = errors.New("another connection of the lane")

// handover is how long a connection waits for the one before it to end: for the
// call that is being applied on it.
const handover = 5 * time.Second

// maxLanes bounds how many lanes a service remembers.
const maxLanes = 1 << 16

// laneKey tells lanes apart.
type laneKey struct {
	peer, client string
	number       int
}

// hold is a session's hold of its lane.
type hold struct {
	memory   *memory
	key      laneKey
	lane     Session
	expelled atomic.Bool
	end      func()        // closes the session's connection
	ended    chan struct{} // closed when the hold is given up
}

// expel has the session end, and returns at once.
func (h *hold) expel() {
	if !h.expelled.Swap(true) {
		go h.end()
	}
}

// Resume begins a session for a connection of a lane of the named peer. One that
// the lane has is ended first, by the end that it was given, and waited for: what
// it has not applied by now is never applied. end is called at most once, from
// another goroutine; it closes the connection, so that the session's Close follows.
//
// The error wraps ErrSuperseded, or says why the lane cannot go on: the answers to
// its calls are not remembered any more.
func (s *Service) Resume(peer string, lane Session, end func()) (*Conn, error) {
	if err := lane.Validate(); err != nil {
		return nil, err
	}
	h := &hold{key: laneKey{peer, lane.Client, lane.Number}, lane: lane, end: end, ended: make(chan struct{})}
	session := &Conn{service: s, peer: peer, hold: h}
	for waited := false; ; waited = true {
		before, err := s.take(session, waited)
		switch {
		case err != nil:
			return nil, err
		case before == nil:
			return session, nil
		}
		select {
		case <-before.ended:
		case <-time.After(handover):
			return nil, fmt.Errorf("%w has been applying a call for %v", ErrSuperseded, handover)
		}
	}
}

// take gives a session its lane, or returns who holds it, and is to be waited for.
func (s *Service) take(session *Conn, waited bool) (before *hold, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := session.hold
	m := s.lanes[h.key]
	if m == nil {
		if h.lane.Unanswered > 0 || len(s.lanes) >= maxLanes {
			return nil, fmt.Errorf("lane %d of %s, with %d calls to be sent again, is not among the %d that are remembered",
				h.key.number, h.key.peer, h.lane.Unanswered, len(s.lanes))
		}
		m = &memory{window: h.lane.Window, first: h.lane.Next, next: h.lane.Next}
		s.lanes[h.key] = m
	}
	if h.lane.Connection < m.connection || h.lane.Connection == m.connection && !waited {
		return nil, fmt.Errorf("%w, number %d, has come before number %d", ErrSuperseded, m.connection, h.lane.Connection)
	}
	m.connection = h.lane.Connection
	if m.holder != nil {
		m.holder.expel()
		return m.holder, nil
	}
	if h.lane.Window != m.window || h.lane.Next > m.next {
		return nil, fmt.Errorf("lane %d of %s goes on at call %d with %d under way at most, where call %d is due with %d",
			h.key.number, h.key.peer, h.lane.Next, h.lane.Window, m.next, m.window)
	}
	if h.lane.Connection > 1 {
		s.resumed.Add(1)
	}
	m.holder, h.memory = h, m
	s.open[session] = true
	return nil, nil
}

// leave gives up a lane, which is forgotten after a while unless a later
// connection takes it. s.mu is held.
func (s *Service) leave(h *hold) {
	h.memory.holder, h.memory.last = nil, h
	close(h.ended)
	time.AfterFunc(h.lane.Keep, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if m := h.memory; m.holder == nil && m.last == h {
			delete(s.lanes, h.key)
			m.forget()
		}
	})
}

// Expelled reports whether a later connection of the session's lane has ended it.
func (s *Conn) Expelled() bool { return s.hold != nil && s.hold.expelled.Load() }
