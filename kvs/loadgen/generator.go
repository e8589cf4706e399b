package loadgen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"kvlab/kvs/history"
	"kvlab/kvs/route"
	"kvlab/kvs/wire"
	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
)

// Generator is one client node's run. Its methods are called in the order
// Connect, Load (or its two halves), Measure, Close, from one goroutine; Counts and Latency may be
// used beside them.
type Generator struct {
	// Begins is when the warm-up begins, the same moment for all clients of a run
	// however late each hears of it; zero for at once. It is set before Measure.
	Begins time.Time
	// Settle, when it is not nil, is asked shortly before the warm-up's end when
	// the window opens; zero is at that end. It is asked once, and not without a
	// warm-up; until it answers, the warm-up goes on. Its error ends the run. It is
	// set before Measure.
	Settle func(context.Context) (opens time.Time, err error)
	// With -check, Share is given this client's part of each slice that all clients
	// record at the same time, as Slices plans it from Begins on. It is not called
	// by a worker; its error ends the run. Both are set before Measure.
	Slices metrics.SlicePlan
	Share  func(metrics.Slice) error

	config  Config
	plan    *workload.Plan
	router  route.Router
	workers []*worker
	latency *latency.Collector
	opened  time.Time        // when the window opened
	offered *metrics.Offered // of an open loop
	slices  *history.Slices  // nil without -check

	instance string       // random, of this client's run
	retries  wire.Retries // with -retry
}

// New returns a generator for a configuration, or the error of its Validate.
func New(c Config) (*Generator, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	plan, err := workload.New(c.Workload)
	if err != nil {
		return nil, err
	}
	router, err := newRouter(c, plan)
	if err != nil {
		return nil, err
	}
	latency, recorders := latency.NewCollector(c.Workers)
	g := &Generator{config: c, plan: plan, router: router, latency: latency, instance: rand.Text()}
	names := newNames(c.KeyPrefix, c.Workload.Records)
	for i, recorder := range recorders {
		g.workers = append(g.workers, newWorker(c, i, plan, names, router, recorder))
	}
	if c.Check {
		var recorders []*history.Recorder
		if g.slices, recorders, err = history.New(c.Index, c.Workers, recordedKeys(c, plan)); err != nil {
			return nil, fmt.Errorf("-check: %w", err)
		}
		for i, w := range g.workers {
			w.history = recorders[i]
		}
	}
	return g, nil
}

// Forecast is how the router can be expected to spread the operations. It takes
// some 20 ms.
func (g *Generator) Forecast() Forecast { return forecast(g.config, g.plan, g.router) }

// Peer is the address of the first server, for finding the interface that the
// run's traffic takes.
func (g *Generator) Peer() (netip.Addr, error) {
	if g.config.Transport == InProcess {
		return netip.MustParseAddr("127.0.0.1"), nil
	}
	addr, err := net.ResolveTCPAddr("tcp", g.config.Hosts[0])
	if err != nil {
		return netip.Addr{}, fmt.Errorf("-hosts %s: %w", g.config.Hosts[0], err)
	}
	return addr.AddrPort().Addr().Unmap(), nil
}

// Close closes all connections. Calls under way fail.
func (g *Generator) Close() error {
	var errs []error
	for _, w := range g.workers[:g.config.Lanes()] { // the others share theirs
		for _, c := range w.conns {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// each runs f for every worker at once and returns the first error. With it, or
// when ctx ends, all connections are closed, so that no worker waits for ever;
// what the others then say of closed connections is not the reason.
func (g *Generator) each(ctx context.Context, f func(context.Context, *worker) error) error {
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stop := context.AfterFunc(inner, func() { _ = g.Close() }) // the cause says more
	defer stop()
	var group sync.WaitGroup
	for _, w := range g.workers {
		group.Go(func() {
			if err := f(inner, w); err != nil {
				fail(err)
			}
		})
	}
	group.Wait()
	return g.explain(ctx, context.Cause(inner))
}

// Store stores this client's share of the records.
func (g *Generator) Store(ctx context.Context) error {
	return g.each(ctx, func(ctx context.Context, w *worker) error { return w.store(ctx, g.config) })
}

// ReadBack reads all that Store has stored, and compares it in full.
func (g *Generator) ReadBack(ctx context.Context) error {
	return g.each(ctx, func(ctx context.Context, w *worker) error { return w.readBack(ctx, g.config) })
}

// Load is Store and then ReadBack.
func (g *Generator) Load(ctx context.Context) error {
	if err := g.Store(ctx); err != nil {
		return err
	}
	return g.ReadBack(ctx)
}
