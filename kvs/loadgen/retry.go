package loadgen

import (
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"syscall"
	"time"

	"kvlab/kvs"
	"kvlab/kvs/route"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// options are the client's end of its connections.
func (g *Generator) options() wire.Options {
	c := g.config
	o := c.link()
	o.Hello = wire.Hello{Node: c.Node, Codec: c.Codec, Features: c.Features,
		Shards: service.Placement{Servers: len(c.Hosts), Router: c.Router, Owners: route.Fingerprint(g.router)}}
	if c.Retry {
		o.Retries = &g.retries
		o.Lane = service.Session{Client: g.instance, Window: c.window(), Keep: min(2*c.CallTimeout, service.MaxKeep)}
	}
	return o
}

// window is how many calls a connection has under way at most.
func (c Config) window() int { return (c.Workers + c.Lanes() - 1) / c.Lanes() * c.InFlight }

func (c Config) validateRetry() error {
	switch {
	case !c.Retry:
		return nil
	case c.Transport == InProcess:
		return fmt.Errorf("-retry: -transport %s has no connection that could break", InProcess)
	case c.window() > service.MaxWindow:
		return fmt.Errorf("-retry: %d workers share a connection with %d rounds each: at most %d calls under way; want more -connections",
			(c.Workers+c.Lanes()-1)/c.Lanes(), c.InFlight, service.MaxWindow)
	}
	return nil
}

// retried is what broken connections cost so far; nil when none broke.
func (g *Generator) retried() *metrics.Retries {
	n := g.retries.Connections.Load()
	if n == 0 {
		return nil
	}
	r := &metrics.Retries{Connections: n, Calls: g.retries.Calls.Load()}
	if first := g.retries.First.Load(); first != nil {
		r.First = (*first).Error()
	}
	return r
}

// returnsWithin is how long a client whose server has gone looks whether that
// comes back: as long as it takes to start one, and not so long that anybody waits.
const returnsWithin = 500 * time.Millisecond

// explain returns a better reason for err, if it is a call's whose connection
// broke: that the server has been started again. Only a new connection shows it.
func (g *Generator) explain(ctx context.Context, err error) error {
	var call *CallError
	var answered rpc.ServerError
	if g.config.Retry || !errors.As(err, &call) || ctx.Err() != nil || call.server.addr == "" ||
		errors.As(err, &answered) || errors.Is(err, wire.ErrUnsent) || errors.Is(err, kvs.ErrMalformed) || errors.Is(err, wire.ErrTimeout) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, returnsWithin)
	defer cancel()
	o := g.options()
	o.KnownInstance = call.server.instance
	for {
		client, _, again := wire.Dial(ctx, call.server.addr, o)
		var restarted *wire.RestartedError
		switch {
		case again == nil:
			_ = client.Close() // it has done its part
			return err
		case errors.As(again, &restarted):
			return &CallError{Server: call.Server, Ops: call.Ops, Err: restarted, server: call.server}
		case !errors.Is(again, syscall.ECONNREFUSED):
			return err
		}
		select {
		case <-time.After(returnsWithin / 20):
		case <-ctx.Done():
			return err
		}
	}
}
