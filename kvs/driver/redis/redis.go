// Package redis is the driver of Redis, and of everything that speaks its protocol. An
// operation is a GET, SET, SET with GET or DEL; those of a call are pipelined. It never
// sends an operation twice, and follows no redirection.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/pipeline"
	"kvlab/kvs/resp"
	"kvlab/kvs/route"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// The drivers. Every server of Row is a Redis of its own. Those of ClusterRow are the masters
// of one Redis Cluster, in the order of their slots.
var (
	Row        = driver.Row{Name: "redis", Check: check, Open: open}
	ClusterRow = driver.Row{Name: "redis-cluster", Check: checkCluster, Open: openCluster, Router: route.Slots}
)

func check(o driver.Options, u driver.Use) error {
	return cmp.Or(o.CheckForeign(u, resp.Has, "user", "password"), checkUser(o.Settings))
}

func checkUser(settings map[string]string) error {
	if settings["user"] != "" && settings["password"] == "" {
		return errors.New("setting user: want the setting password with it")
	}
	return nil
}

// redis is a driver, and a driver.Counter.
type redis struct {
	options driver.Options
	cluster bool

	mu        sync.Mutex
	instances []string // the servers' run_ids, as the first Dial of each met them; guarded by mu

	forming  sync.Mutex
	isFormed bool // the cluster is formed; guarded by forming

	counting sync.Mutex
	counters []*counter // of the servers, nil until Counts connects one; guarded by counting
}

func open(o driver.Options, _ driver.Use) (driver.Driver, error) { return newRedis(o, false), nil }

func openCluster(o driver.Options, _ driver.Use) (driver.Driver, error) {
	return newRedis(o, true), nil
}

func newRedis(o driver.Options, cluster bool) *redis {
	return &redis{options: o, cluster: cluster, instances: make([]string, len(o.Hosts)), counters: make([]*counter, len(o.Hosts))}
}

// dial connects to a server, which must be the instance that the first Dial met. A master of
// a cluster must own the slots that the router gives it.
func (r *redis) dial(ctx context.Context, server int) (net.Conn, error) {
	addr := r.options.Hosts[server]
	c, err := dial(ctx, addr, r.options.Settings)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.socket.Close() })
	err = r.meet(ctx, c, server)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err == nil {
		return c.socket, nil
	}
	c.socket.Close()
	return nil, fmt.Errorf("server %s: %w", addr, err)
}

// meet checks whom a new connection has reached.
func (r *redis) meet(ctx context.Context, c *control, server int) error {
	reply, err := c.do("INFO", "server")
	if err != nil {
		return err
	}
	instance := parseInfo(reply.Text)["run_id"]
	if r.cluster {
		if r.options.Fresh {
			if err := r.formed(ctx); err != nil {
				return fmt.Errorf("form a cluster: %w", err)
			}
		}
		if err := checkSlots(c, server, len(r.options.Hosts)); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch known := r.instances[server]; {
	case instance == "":
		return errors.New("INFO has no run_id: want a Redis")
	case known != "" && known != instance:
		return &wire.RestartedError{Node: r.options.Hosts[server], Was: known, Is: instance}
	}
	r.instances[server] = instance
	return nil
}

func (r *redis) Dial(ctx context.Context, server, _ int) (driver.Conn, driver.Server, error) {
	socket, err := r.dial(ctx, server)
	if err != nil {
		return nil, driver.Server{}, err
	}
	return pipeline.New(socket, codec{}, r.options.CallTimeout), driver.Server{Name: r.options.Hosts[server]}, nil
}

// Explain finds out whether the server was restarted, if the connection of the call broke.
func (r *redis) Explain(ctx context.Context, server int, err error) error {
	var refused *driver.OpError
	if errors.As(err, &refused) || errors.Is(err, kvs.ErrMalformed) || errors.Is(err, wire.ErrTimeout) {
		return nil
	}
	return driver.Restarted(ctx, func(ctx context.Context) error {
		socket, err := r.dial(ctx, server)
		if err == nil {
			socket.Close()
		}
		return err
	})
}

func (r *redis) Info() driver.Info { return driver.Info{Capabilities: metrics.AllCapabilities} }

func (r *redis) Close() error {
	r.counting.Lock()
	defer r.counting.Unlock()
	for _, c := range r.counters {
		if c != nil {
			c.socket.Close()
		}
	}
	return nil
}
