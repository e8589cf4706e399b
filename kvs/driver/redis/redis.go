// Package redis is the driver of Redis, and of everything that speaks its protocol. An
// operation is a GET, SET, SET with GET or DEL; those of a call are pipelined. It never
// sends an operation twice, and follows no redirection.
package redis

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"

	"kvlab/internal/cli"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/pipeline"
	"kvlab/kvs/resp"
	"kvlab/kvs/route"
)

// batch is the default of -batch: a round of 64 workers has 32,768 operations, which take a
// Redis of 500,000 a second 65 ms.
const batch = 512

// The drivers. Every server of Row is a Redis of its own. Those of ClusterRow are the masters
// of one Redis Cluster, in the order of their slots.
var (
	Row        = driver.Row{Name: "redis", Check: check, Open: open, Batch: batch, Protocol: "RESP", Null: null, TTL: true, Transactions: true}
	ClusterRow = driver.Row{Name: "redis-cluster", Check: checkCluster, Open: openCluster, Router: route.Slots, Batch: batch, Find: findCluster, Protocol: "RESP", Null: null, TTL: true}
)

func check(o driver.Options, u driver.Use) error {
	return cmp.Or(o.CheckOneServer(u), cli.Want(u.Txn == 0 || !u.Shared, "-connections", "fewer", "as many as -workers: a connection of Redis has one transaction at a time"), o.CheckForeign(u, resp.Has, "user", "password", "tls", "ca", driver.CountsSetting))
}

// redis is the store of a driver.
type redis struct {
	options driver.Options
	cluster bool
	router  string // of a cluster's slots; "" checks no slots

	met driver.Instances

	forming  sync.Mutex
	isFormed bool // the cluster is formed; guarded by forming
}

func open(o driver.Options, _ driver.Use) (driver.Driver, error) {
	return transactional{pipeline.NewDriver(o, &redis{options: o})}, nil
}

func openCluster(o driver.Options, u driver.Use) (driver.Driver, error) {
	if o.Null { // servers of no cluster
		return open(o, u)
	}
	return pipeline.NewDriver(o, &redis{options: o, cluster: true, router: u.Router}), nil
}

// Codec returns a codec of RESP2.
func (r *redis) Codec() pipeline.Codec { return codec{resp.Expiry(r.options.TTL)} }

// Dial connects to a server, which must be the instance that the first Dial met. A master of
// a cluster must own the slots that the router gives it.
func (r *redis) Dial(ctx context.Context, server int) (net.Conn, error) {
	c, err := r.control(ctx, server, func(c *control) error { return r.meet(ctx, c, server) })
	if err != nil {
		return nil, err
	}
	return c.Conn, nil
}

// meet checks whom a new connection has reached.
func (r *redis) meet(ctx context.Context, c *control, server int) error {
	uncounting := r.options.Settings[driver.CountsSetting] == driver.NoCounts
	reply, err := c.do("INFO", "server")
	if refused := err != nil && (strings.Contains(err.Error(), "unknown command") || strings.Contains(err.Error(), "NOPERM")); refused && !uncounting {
		return fmt.Errorf("%w%s", err, uncounted)
	} else if err != nil && !refused {
		return err
	}
	instance := parseInfo(reply.Text)["run_id"]
	if r.cluster {
		if r.options.Fresh {
			if err := r.formed(ctx); err != nil {
				return fmt.Errorf("form a cluster: %w", err)
			}
		}
		if r.router != "" {
			if err := r.checkSlots(c, server); err != nil {
				return err
			}
		}
	} else if parseInfo(reply.Text)["redis_mode"] == "cluster" {
		return fmt.Errorf("it is a node of a Redis Cluster: want redis-cluster://%s, which finds all masters", r.options.Hosts[server])
	}
	switch {
	case uncounting:
		return nil
	case instance == "":
		return fmt.Errorf("INFO has no run_id%s", uncounted)
	}
	return r.met.Meet(r.options.Hosts[server], instance)
}
