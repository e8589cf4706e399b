package service

import (
	"errors"
	"fmt"
	"time"
)

// Session identifies a connection that replaces broken ones. The calls of all its
// connections are numbered together, and the server caches the last replies, so it
// applies each call once however often the client sends it. It is NFSv4.1's session
// (RFC 8881, section 2.10.6) with one queue in place of slots. The zero Session is none.
type Session struct {
	Client     string        `json:"client"`               // random, of the client's process
	Number     int           `json:"number,omitempty"`     // among the client's sessions with this server
	Connection uint64        `json:"connection"`           // from 1; a later one supersedes the earlier ones
	Window     int           `json:"window"`               // pending calls at most, and cached replies; 1 to MaxWindow
	Next       uint64        `json:"next,omitempty"`       // number of the first call on this connection
	Unanswered int           `json:"unanswered,omitempty"` // calls from Next on that an earlier connection may have sent
	Keep       time.Duration `json:"keep_ns"`              // how long the session lives without a connection; 0 to MaxKeep
	Process    string        `json:"process,omitempty"`    // of the service that the previous connection reached; "" of the first connection
}

// Limits of a Session.
const (
	MaxWindow = 1 << 16
	MaxKeep   = 10 * time.Minute
)

// valid reports whether a session is within the limits.
func (s Session) valid() bool {
	return len(s.Client) >= 16 && len(s.Client) <= 64 && s.Connection >= 1 && s.Window >= 1 && s.Window <= MaxWindow &&
		len(s.Process) <= 64 && s.Unanswered >= 0 && s.Unanswered <= s.Window && s.Keep >= 0 && s.Keep <= MaxKeep
}

// ErrSuperseded is wrapped by the error of a session's connection that a later one
// has superseded, or that could not supersede an earlier one in time. The session
// remains valid.
var ErrSuperseded = errors.New("another connection of the session")

// handover is how long a connection waits for the previous one to finish its call.
const handover = 5 * time.Second

const maxSessions = 1 << 16 // of a service

type sessionKey struct {
	peer, client string
	number       int
}

func (c *Conn) sessionKey() sessionKey { return sessionKey{c.peer, c.session.Client, c.session.Number} }

// supersede closes the session's connection in the background.
func (c *Conn) supersede() {
	if !c.superseded.Swap(true) {
		go c.close()
	}
}

// Attach opens a connection of a peer's session. It first supersedes the session's
// previous connection and waits for its end: calls that one has not applied by then
// are never applied on it. closeConn closes the new connection, so that its Close
// follows; it is called at most once, from another goroutine.
//
// The error wraps ErrSuperseded, or says why the session cannot continue: its replies
// are no longer cached.
func (s *Service) Attach(peer string, session Session, closeConn func()) (*Conn, error) {
	if !session.valid() {
		return nil, fmt.Errorf("a session out of its limits: %+v", session)
	}
	c := &Conn{service: s, peer: peer, session: &session, close: closeConn, detached: make(chan struct{})}
	for waited := false; ; waited = true {
		previous, err := s.claim(c, waited)
		switch {
		case err != nil:
			return nil, err
		case previous == nil:
			return c, nil
		}
		select {
		case <-previous.detached:
		case <-time.After(handover):
			return nil, fmt.Errorf("%w has been applying a call for %v", ErrSuperseded, handover)
		}
	}
}

// claim gives a connection its session, or supersedes the session's holder and
// returns it; the caller waits for it.
func (s *Service) claim(c *Conn, waited bool) (previous *Conn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := *c.session
	cache := s.sessions[c.sessionKey()]
	if cache == nil {
		if asked.Process != "" && asked.Process != s.process { // the client knows that its unanswered calls and their replies are lost
			asked.Next, asked.Unanswered = asked.Next+uint64(asked.Unanswered), 0
		}
		if asked.Unanswered > 0 || len(s.sessions) >= maxSessions {
			return nil, fmt.Errorf("session %d of %s, with %d unanswered calls, is not among the %d cached ones",
				asked.Number, c.peer, asked.Unanswered, len(s.sessions))
		}
		cache = &replyCache{window: asked.Window, first: asked.Next, next: asked.Next}
		s.sessions[c.sessionKey()] = cache
	}
	if asked.Connection < cache.connection || asked.Connection == cache.connection && !waited {
		return nil, fmt.Errorf("%w, number %d, has come before number %d", ErrSuperseded, cache.connection, asked.Connection)
	}
	cache.connection = asked.Connection
	if cache.holder != nil {
		cache.holder.supersede()
		return cache.holder, nil
	}
	if asked.Window != cache.window || asked.Next > cache.next {
		return nil, fmt.Errorf("session %d of %s continues at call %d with a window of %d: want call %d and %d",
			asked.Number, c.peer, asked.Next, asked.Window, cache.next, cache.window)
	}
	if asked.Connection > 1 {
		s.resumed.Add(1)
	}
	cache.holder, c.cache = c, cache
	s.conns[c] = true
	return nil, nil
}

// detach releases a session, which is dropped after its Keep unless a later
// connection attaches to it. The caller holds s.mu.
func (s *Service) detach(c *Conn) {
	c.cache.holder, c.cache.last = nil, c
	close(c.detached)
	time.AfterFunc(c.session.Keep, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if cache := c.cache; cache.holder == nil && cache.last == c {
			delete(s.sessions, c.sessionKey())
			cache.drop()
		}
	})
}

// Superseded reports whether a later connection of the session has superseded c.
func (c *Conn) Superseded() bool { return c.superseded.Load() }
