package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fastrand"

	"kvlab/kvs"
)

// How long a lane waits before it tries to connect again: a random part of a
// pause that doubles up to a bound, so that the lanes of a restarted server do not
// connect at the same moment.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond // in nanoseconds it fits into 32 bits
)

// patience is how long a lane tries to connect again when calls may take any time.
const patience = 10 * time.Second

// reconnect replaces a connection that was lost for a cause, and sends the calls
// under way again. An error is the lane's end.
func (l *lane) reconnect(cause error) error {
	l.line.end(cause) // which frees who holds sending
	l.sending.Lock()
	if l.ctx.Err() != nil {
		l.sending.Unlock()
		return context.Cause(l.ctx)
	}
	line, err := l.redial(cause)
	if err != nil {
		l.cancel(err)
		l.sending.Unlock()
		return err
	}
	l.line = line
	line.obey(l)
	frames, calls := l.pending.frames(line)
	l.id.Retries.note(calls, cause)
	// Beside the reader: a server that nobody reads from stops reading.
	go func() {
		defer l.sending.Unlock()
		if _, err := line.conn.Write(frames); err != nil {
			line.end(err)
		}
	}()
	return nil
}

// redial connects until it succeeds, is refused, or has no time left.
func (l *lane) redial(cause error) (*line, error) {
	limit := patience
	if l.id.CallTimeout > 0 {
		limit = l.id.CallTimeout
	}
	ctx, cancel := context.WithTimeout(l.ctx, limit)
	defer cancel()
	l.id.Lane.Next, l.id.Lane.Unanswered = l.pending.underWay()
	last := cause
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		select {
		case <-time.After(time.Duration(fastrand.Uint32n(uint32(pause)))):
		case <-ctx.Done():
		}
		switch {
		case l.ctx.Err() != nil:
			return nil, fmt.Errorf("%w; %w", context.Cause(l.ctx), last)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w: no new connection within %v: %w; the one before: %w", ErrTimeout, limit, last, cause)
		}
		l.id.Lane.Connection++
		line, _, err := newLine(ctx, l.addr, l.id)
		if err == nil {
			return line, nil
		}
		var restarted *RestartedError
		if errors.Is(err, ErrRefused) || errors.As(err, &restarted) {
			return nil, err
		}
		if ctx.Err() == nil {
			last = err
		}
	}
}

// line is one connection of a lane.
type line struct {
	*binaryClient
	below *mortal
	ended chan struct{} // closed with the connection
	close sync.Once
}

func newLine(ctx context.Context, addr string, id Identity) (*line, Identity, error) {
	conn, server, err := connect(ctx, addr, id)
	if err != nil {
		return nil, Identity{}, err
	}
	above, below := id.layer(conn)
	return &line{binaryClient: &binaryClient{newBinaryConn(above, id.CRC)}, below: below, ended: make(chan struct{})}, server, nil
}

// obey has the connection end with its lane, and when it answers nothing for half
// of the time that a call has.
func (n *line) obey(l *lane) {
	go func() {
		select {
		case <-l.ctx.Done():
			n.end(context.Cause(l.ctx))
		case <-n.ended:
		}
	}()
	if half := l.id.CallTimeout / 2; half > 0 {
		go watchCalls(&l.pending.sent, &l.pending.answered, half, n.ended, func() { n.end(late(half)) })
	}
}

// end closes the connection for a reason, which whoever uses it is told.
func (n *line) end(reason error) {
	n.below.end(reason)
	n.close.Do(func() {
		close(n.ended)
		_ = n.binaryClient.Close() // the reason says more
	})
}

// request sends a call.
func (n *line) request(number uint64, batch *kvs.Batch) error {
	return n.write(header{kind: requestFrame, seq: number, count: uint32(batch.Len())}, batch.Frame())
}
