package service

import (
	"errors"
	"fmt"
	"sync/atomic"
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
}

// Limits of a Session.
const (
	MaxWindow = 1 << 16
	MaxKeep   = 10 * time.Minute
)

// Validate returns an error that says what is wrong with a session.
func (s Session) Validate() error {
	switch {
	case len(s.Client) < 16 || len(s.Client) > 64:
		return fmt.Errorf("a session's client has a name of %d bytes: want 16 to 64", len(s.Client))
	case s.Connection < 1:
		return errors.New("a session's connections are numbered from 1")
	case s.Window < 1 || s.Window > MaxWindow:
		return fmt.Errorf("a session with a window of %d calls: want 1 to %d", s.Window, MaxWindow)
	case s.Unanswered < 0 || s.Unanswered > s.Window:
		return fmt.Errorf("a session with %d unanswered calls and a window of %d", s.Unanswered, s.Window)
	case s.Keep < 0 || s.Keep > MaxKeep:
		return fmt.Errorf("a session that is kept for %v: want 0 to %v", s.Keep, MaxKeep)
	}
	return nil
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

// holder is a connection's hold on its session.
type holder struct {
	cache      *replyCache
	key        sessionKey
	session    Session
	superseded atomic.Bool
	close      func()        // closes the connection
	detached   chan struct{} // closed by detach
}

// supersede closes the session's connection in the background.
func (h *holder) supersede() {
	if !h.superseded.Swap(true) {
		go h.close()
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
	if err := session.Validate(); err != nil {
		return nil, err
	}
	h := &holder{key: sessionKey{peer, session.Client, session.Number}, session: session, close: closeConn, detached: make(chan struct{})}
	c := &Conn{service: s, peer: peer, holder: h}
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
func (s *Service) claim(c *Conn, waited bool) (previous *holder, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := c.holder
	cache := s.sessions[h.key]
	if cache == nil {
		if h.session.Unanswered > 0 || len(s.sessions) >= maxSessions {
			return nil, fmt.Errorf("session %d of %s, with %d unanswered calls, is not among the %d cached ones",
				h.key.number, h.key.peer, h.session.Unanswered, len(s.sessions))
		}
		cache = &replyCache{window: h.session.Window, first: h.session.Next, next: h.session.Next}
		s.sessions[h.key] = cache
	}
	if h.session.Connection < cache.connection || h.session.Connection == cache.connection && !waited {
		return nil, fmt.Errorf("%w, number %d, has come before number %d", ErrSuperseded, cache.connection, h.session.Connection)
	}
	cache.connection = h.session.Connection
	if cache.holder != nil {
		cache.holder.supersede()
		return cache.holder, nil
	}
	if h.session.Window != cache.window || h.session.Next > cache.next {
		return nil, fmt.Errorf("session %d of %s continues at call %d with a window of %d: want call %d and %d",
			h.key.number, h.key.peer, h.session.Next, h.session.Window, cache.next, cache.window)
	}
	if h.session.Connection > 1 {
		s.resumed.Add(1)
	}
	cache.holder, h.cache = h, cache
	s.conns[c] = true
	return nil, nil
}

// detach releases a session, which is dropped after its Keep unless a later
// connection attaches to it. The caller holds s.mu.
func (s *Service) detach(h *holder) {
	h.cache.holder, h.cache.last = nil, h
	close(h.detached)
	time.AfterFunc(h.session.Keep, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if cache := h.cache; cache.holder == nil && cache.last == h {
			delete(s.sessions, h.key)
			cache.drop()
		}
	})
}

// Superseded reports whether a later connection of the session has superseded c.
func (c *Conn) Superseded() bool { return c.holder != nil && c.holder.superseded.Load() }
