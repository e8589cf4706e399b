package loadgen

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"kvlab/kvs"
	"kvlab/kvs/engine"
	"kvlab/kvs/service"
	"kvlab/kvs/wire"
)

// A conn carries calls to one server, of one worker or of several: wire.Client over the network,
// or direct into an engine in this process.
type conn interface {
	Send(*kvs.Call)       // begins a call
	Wait(*kvs.Call) error // waits for its reply
	Close() error
}

// direct is the conn without a network: the embedded mode, and the ceiling of
// the harness itself.
type direct struct{ session *service.Conn }

func (d direct) Send(call *kvs.Call) { call.Err = d.session.BatchPutGet(call.Batch, call.Reply) }

func (d direct) Wait(call *kvs.Call) error { return call.Err }

func (d direct) Close() error {
	d.session.Close()
	return nil
}

// Connect gives every worker a connection to every server, its own or one that
// it shares with others, one after another, so that a server sees no crowd of
// handshakes.
func (g *Generator) Connect(ctx context.Context) error {
	if g.config.Transport == InProcess {
		return g.connectDirect()
	}
	o := g.options()
	lanes := g.config.Lanes()
	for i, w := range g.workers {
		if i >= lanes {
			w.conns, w.peers = g.workers[i%lanes].conns, g.workers[i%lanes].peers
			continue
		}
		if g.config.Retry {
			o.Lane.Number = i
		}
		if err := g.connect(ctx, w, o); err != nil {
			return err
		}
	}
	return nil
}

// connect gives a worker its connections, all at once.
func (g *Generator) connect(ctx context.Context, w *worker, o wire.Options) error {
	hosts := g.config.Hosts
	w.conns = make([]conn, len(hosts))
	group, ctx := errgroup.WithContext(ctx)
	for i, addr := range hosts {
		group.Go(func() error {
			o := o
			o.KnownInstance = g.workers[0].peers[i].instance // the first worker meets any
			o.Shards.Server = i
			client, server, err := wire.Dial(ctx, addr, o)
			if err != nil {
				return fmt.Errorf("connect to server %d of %d: %w", i+1, len(hosts), err)
			}
			w.conns[i] = client
			w.peers[i] = peer{name: server.Node, addr: addr, instance: server.Instance, null: server.Null}
			return nil
		})
	}
	err := group.Wait()
	if err != nil {
		w.conns = slices.DeleteFunc(w.conns, func(c conn) bool { return c == nil })
	}
	return err
}

func (g *Generator) connectDirect() error {
	row, err := engine.Find(g.config.Engine)
	if err != nil {
		return err
	}
	e, err := engine.Open(g.config.Engine, engine.Options{Records: g.config.Workload.Records})
	if err != nil {
		return err
	}
	service := service.New(e)
	for _, w := range g.workers {
		session := service.Open(g.config.Node)
		session.Coalesce = g.config.Coalesce
		w.conns = append(w.conns, direct{session})
		w.peers[0] = peer{name: InProcess, null: row.NoStore}
	}
	return nil
}

var (
	_ conn = (*wire.Client)(nil)
	_ conn = direct{}
)
