// Package memcached is the driver of memcached, by its classic text protocol: a run of Gets
// is one get of all their keys, a Put or an Insert a set, a Delete a delete, each with a
// reply. The driver never sends an operation twice.
package memcached

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"kvlab/internal/cli"
	"kvlab/kvs"
	"kvlab/kvs/driver"
	"kvlab/kvs/driver/pipeline"
)

// batch is the default of -batch: a round of 64 workers has 32,768 operations, which take
// tens of milliseconds.
const batch = 512

// Row is the driver.
var Row = driver.Row{Name: "memcached", Check: check, Open: open, Batch: batch, Protocol: "memcached's text protocol", Null: null, TTL: true}

// has reports whether memcached has a kind of operation.
func has(kind kvs.Kind) bool {
	return kind == kvs.Get || kind == kvs.Put || kind == kvs.Insert || kind == kvs.Delete
}

func check(o driver.Options, u driver.Use) error {
	// More seconds than those of 30 days are a date, by the server's clock (doc/protocol.txt).
	if err := cli.Want(o.TTL%time.Second == 0 && o.TTL <= 30*24*time.Hour, "-ttl", o.TTL, "whole seconds, at most 720h: memcached takes no others"); err != nil {
		return err
	}
	return o.CheckForeign(u, has, "user", "password", "tls", "ca", driver.CountsSetting)
}

// memcached is the store of a driver.
type memcached struct {
	options  driver.Options
	distinct bool // of every codec
	met      driver.Instances
}

func open(o driver.Options, u driver.Use) (driver.Driver, error) {
	comes := slices.Contains(u.Kinds, kvs.Insert) || slices.Contains(u.Kinds, kvs.Delete)
	return pipeline.NewDriver(o, &memcached{options: o, distinct: comes || len(u.Kinds) == 0}), nil
}

// Codec returns a codec of the text protocol.
func (m *memcached) Codec() pipeline.Codec {
	return &codec{distinct: m.distinct, exptime: int64(m.options.TTL / time.Second)}
}

// Dial connects to a server, which must be the instance that the first Dial met.
func (m *memcached) Dial(ctx context.Context, server int) (net.Conn, error) {
	return m.connect(ctx, server, func(c *control) error {
		stats, err := c.ask("stats")
		if err != nil {
			return err
		}
		met := instance(stats)
		if met == "" {
			return errors.New("stats has no pid, time and uptime: want a memcached")
		}
		return m.met.Meet(m.options.Hosts[server], met)
	})
}

// connect connects to a server, logs in if the settings have a password, and lets meet speak
// with it.
func (m *memcached) connect(ctx context.Context, server int, meet func(*control) error) (net.Conn, error) {
	return m.options.Connect(ctx, server, func(socket net.Conn) error {
		c := newControl(socket)
		if s := m.options.Settings; s["password"] != "" {
			if err := c.login(s["user"], s["password"]); err != nil {
				return err
			}
		}
		return meet(c)
	})
}
