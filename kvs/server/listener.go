package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"kvlab/kvs/service"
)

// listener accepts connections and serves them. After an error, such as too many open
// files, it waits and continues.
type listener struct {
	net.Listener
	config  config
	service *service.Service
	model   Model
	foreign func(net.Conn) error  // serves a connection until its end, and closes it; nil: kvlab's own protocol
	logf    func(string, ...any)  // for connections that end badly
	first   func(remote net.Addr) // called once, for the first connection

	// abandoned is closed when the store has failed: calls may wait for what never comes. It
	// may be nil.
	abandoned <-chan struct{}

	mu      sync.Mutex
	conns   map[net.Conn]bool // open; guarded by mu
	closed  bool              // guarded by mu
	handler sync.WaitGroup
}

const (
	acceptPause    = 5 * time.Millisecond // doubles with every consecutive failure
	acceptPauseMax = time.Second
)

// run accepts until the listener is closed.
func (l *listener) run(ctx context.Context) error {
	for pause := acceptPause; ; {
		conn, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			l.logf("accept: %v; retry in %v", err, pause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, acceptPauseMax)
		case l.admit(conn):
			pause = acceptPause
		}
	}
}

// admit starts a handler for conn, or closes it if there are too many.
func (l *listener) admit(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if open := len(l.conns); l.closed || open >= l.config.MaxConnections {
		if open >= l.config.MaxConnections {
			l.logf("refuse %s: %d connections are open (-max-connections)", conn.RemoteAddr(), open)
		}
		conn.Close()
		return false
	}
	if l.first != nil {
		l.first(conn.RemoteAddr())
		l.first = nil
	}
	l.conns[conn] = true
	l.handler.Add(1)
	go l.serve(conn)
	return true
}

// serve serves conn, but may return before its end.
func (l *listener) serve(conn net.Conn) {
	ended := func(err error) { l.ended(conn, err) }
	if l.foreign != nil {
		ended(l.foreign(conn))
	} else {
		begin(conn, l.config.Options, l.service, l.model, ended)
	}
}

// ended records the end of conn.
func (l *listener) ended(conn net.Conn, err error) {
	defer l.handler.Done()
	l.mu.Lock()
	delete(l.conns, conn)
	closed := l.closed
	l.mu.Unlock()
	if err != nil && !closed {
		l.logf("%v", err)
	}
}

// stop closes the listener and every connection, and waits for the handlers, unless they
// are abandoned. The service's counts are then final.
func (l *listener) stop() error {
	err := l.Close()
	l.mu.Lock()
	l.closed = true
	for conn := range l.conns {
		conn.Close()
	}
	l.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		l.handler.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-l.abandoned:
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("stop listening: %w", err)
	}
	return nil
}
