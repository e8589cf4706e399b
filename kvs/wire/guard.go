package wire

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// guard closes a connection whose client keeps the server waiting. It looks at
// it now and then, so that a request costs two additions and no clock.
type guard struct {
	conn    net.Conn
	limits  Limits
	every   time.Duration
	moves   atomic.Uint64 // odd from a request's first byte to its reply's last
	expired atomic.Pointer[error]

	timer *time.Timer
	seen  uint64        // moves at the last look; of the timer's function, as idle
	idle  time.Duration // for how long nothing has moved between two requests
}

// watch begins to guard a connection; stop ends it.
func watch(conn net.Conn, limits Limits) *guard {
	g := &guard{conn: conn, limits: limits, every: limits.Request}
	if g.every == 0 {
		g.every = limits.Idle
	}
	if g.every > 0 {
		g.timer = time.AfterFunc(1<<62, g.look)
		g.timer.Reset(g.every) // not before g.timer is set: look resets it
	}
	return g
}

func (g *guard) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// move notes that a request begins, or has been answered.
func (g *guard) move() { g.moves.Add(1) }

// look closes the connection when too little has happened since the last look.
func (g *guard) look() {
	moves := g.moves.Load()
	switch underWay := moves%2 == 1; {
	case moves != g.seen:
		g.seen, g.idle = moves, 0
	case underWay && g.limits.Request > 0:
		g.expire(fmt.Errorf("%w: a request and its reply take longer than %v (-request-timeout)", ErrLimit, g.limits.Request))
		return
	default:
		if g.idle += g.every; !underWay && g.limits.Idle > 0 && g.idle >= g.limits.Idle {
			g.expire(fmt.Errorf("%w: no request for %v (-idle-timeout)", ErrLimit, g.limits.Idle))
			return
		}
	}
	g.timer.Reset(g.every)
}

func (g *guard) expire(why error) {
	g.expired.Store(&why)
	g.conn.Close()
}

// why is the reason for which err ended the connection: the guard's own, if it
// closed it.
func (g *guard) why(err error) error {
	if own := g.expired.Load(); own != nil {
		return *own
	}
	return err
}
