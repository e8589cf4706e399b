package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"kvlab/kvs/server/door"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// listener accepts connections and serves them. After an error, such as too many open
// files, it waits and continues.
type listener struct {
	net.Listener
	config  config
	service *service.Service
	door    *door.Door            // whose clients these are; nil for kvlab's own
	logf    func(string, ...any)  // for connections that end badly
	first   func(remote net.Addr) // called once, for the first connection

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
	l.handler.Go(func() { l.serve(conn) })
	return true
}

func (l *listener) serve(conn net.Conn) {
	var err error
	if l.door != nil {
		err = l.door.Serve(conn)
	} else {
		err = Serve(conn, l.config.Options, l.service, l.config.Repeat)
	}
	l.mu.Lock()
	delete(l.conns, conn)
	closed := l.closed
	l.mu.Unlock()
	if err != nil && !closed {
		l.logf("%v", err)
	}
}

// Serve serves one client over socket until the connection ends, and closes it. It
// returns nil when the client has closed the connection between two calls. With repeat it
// is a server of -repeat.
func Serve(socket net.Conn, o wire.Options, service *service.Service, repeat bool) error {
	conn, err := wire.Accept(socket, o, service)
	if err != nil {
		return err
	}
	defer conn.Close()
	return perConn(conn, repeat)
}

// stop closes the listener and every connection, and waits for the handlers. The
// service's counts are then final.
func (l *listener) stop() error {
	err := l.Close()
	l.mu.Lock()
	l.closed = true
	for conn := range l.conns {
		conn.Close()
	}
	l.mu.Unlock()
	l.handler.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("stop listening: %w", err)
	}
	return nil
}
