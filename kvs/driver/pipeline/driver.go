package pipeline

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"kvlab/kvs/driver"
	"kvlab/metrics"
)

// Store is a foreign store: what its driver knows beside the Codec.
type Store interface {
	Codec() Codec
	// Dial connects to a server, which must be the instance that the first Dial met.
	Dial(ctx context.Context, server int) (net.Conn, error)
	// Counter connects to a server to read its counters.
	Counter(ctx context.Context, server int) (Counter, error)
}

// Counter is a connection over which a server's counters are read.
type Counter interface {
	io.Closer
	Counts() (metrics.StoreCounts, error)
}

// Driver is the driver of a Store, and a driver.Counter.
type Driver struct {
	options driver.Options
	store   Store

	mu       sync.Mutex
	counters []Counter // of the servers, nil until Counts connects one; guarded by mu
}

// NewDriver returns the driver of a store.
func NewDriver(o driver.Options, s Store) *Driver {
	return &Driver{options: o, store: s, counters: make([]Counter, len(o.Hosts))}
}

// Dial connects to a server.
func (d *Driver) Dial(ctx context.Context, server, _ int) (driver.Conn, driver.Server, error) {
	socket, err := d.store.Dial(ctx, server)
	if err != nil {
		return nil, driver.Server{}, err
	}
	return New(socket, d.store.Codec(), d.options.CallTimeout), driver.Server{Name: d.options.Hosts[server]}, nil
}

// Explain finds out whether a server was restarted.
func (d *Driver) Explain(ctx context.Context, server int, err error) error {
	return driver.ExplainForeign(ctx, err, func(ctx context.Context) (net.Conn, error) { return d.store.Dial(ctx, server) })
}

// Info says that the driver has all capabilities.
func (d *Driver) Info() driver.Info { return driver.Info{Capabilities: metrics.AllCapabilities} }

// Counts returns a server's counters. It keeps the connection for the next time.
func (d *Driver) Counts(ctx context.Context, server int) (counts metrics.StoreCounts, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.counters[server]
	if c == nil {
		if c, err = d.store.Counter(ctx, server); err != nil {
			return counts, err
		}
	}
	d.counters[server] = nil
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if counts, err = c.Counts(); err != nil {
		c.Close()
		return metrics.StoreCounts{}, fmt.Errorf("server %s: %w", d.options.Hosts[server], err)
	}
	d.counters[server] = c
	return counts, nil
}

// Close ends the connections of the counters.
func (d *Driver) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.counters {
		if c != nil {
			c.Close()
		}
	}
	return nil
}
