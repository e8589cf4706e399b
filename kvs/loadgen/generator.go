package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"kvlab/kvs/driver"
	"kvlab/kvs/loadgen/selected"
	"kvlab/kvs/route"
	"kvlab/kvs/value"
	"kvlab/metrics"
	"kvlab/metrics/latency"
	"kvlab/workload"
)

// Generator is one client node's run. One goroutine calls its methods in the order
// Connect, Store, ReadBack, Draw, Measure, Close. Counts and Latency may be called
// concurrently, as may Stage.
type Generator struct {
	// Begins is when the warm-up begins, the same time for all clients of a run; zero
	// means at once. It is set before Measure.
	Begins time.Time
	// Settle, if not nil, is called once, shortly before the warm-up's end, or in the window
	// if there is no warm-up. It gets the longest recent round of a worker, and returns when
	// the window opens, and its length; zero means at the warm-up's end, and -secs. The
	// warm-up continues until Settle returns. Its error ends the run. It is set before
	// Measure.
	Settle func(ctx context.Context, round time.Duration) (opens time.Time, length time.Duration, err error)
	// Batch, if not 0, replaces -batch after the load. It is set before Draw.
	Batch int
	// Secret selects the keys of -linearizable and of the audit. All clients of a run have
	// the same one, and no server. Zero means no audit. It is set before Draw.
	Secret uint64
	// With -linearizable or -serializable, Slices plans the slices that all clients record at the same
	// time, from Begins on, and Share receives this client's part of each. No worker
	// calls Share; its error ends the run. Both are set before Measure.
	Slices metrics.SlicePlan
	Share  func(metrics.Slice) error

	config  Config
	driver  driver.Driver
	workers []*worker
	latency *latency.Collector
	stored  [2]moment        // when Store began and ended
	drawn   bool             // the first rounds are drawn
	opened  time.Time        // when the window opened
	length  time.Duration    // of the window
	ended   chan struct{}    // closed when all workers have ended; set by Measure
	offered *metrics.Offered // of an open loop
	phases  atomic.Pointer[schedule]
	slices  selected.Slices // nil without -linearizable and -serializable
	audited *audited        // nil without an audit
}

// New returns a generator for a configuration, or the error of its Validate.
func New(c Config) (*Generator, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Connections = c.Conns() // a lower batch does not change it
	plan, err := workload.New(c.Workload)
	if err != nil {
		return nil, err
	}
	router, err := c.router(plan)
	if err != nil {
		return nil, err
	}
	latency, recorders := latency.NewCollector(c.Workers, c.Servers())
	g := &Generator{config: c, latency: latency}
	table, sizes := c.keyTable(plan), c.ValueSize.Values(c.Workload.Seed)
	if g.driver, err = driver.Open(c.Options, c.use(plan, route.Fingerprint(router))); err != nil {
		return nil, err
	}
	for i, recorder := range recorders {
		g.workers = append(g.workers, newWorker(c, i, plan, table, sizes, router, recorder))
	}
	return g, nil
}

// Capabilities returns what the driver can do.
func (g *Generator) Capabilities() metrics.Capabilities { return g.driver.Info().Capabilities }

// SetKey sets the key of the values, which is value.Fixed without it. It is called before Store.
func (g *Generator) SetKey(k value.Key) {
	for _, w := range g.workers {
		w.checker.Key = k
	}
}

// Connect gives every worker a connection to every server, unshared or shared. It
// connects worker by worker, so that a server has few handshakes at a time.
func (g *Generator) Connect(ctx context.Context) error {
	unshared := g.config.Conns()
	for i, w := range g.workers {
		if i >= unshared {
			w.conns, w.servers = g.workers[i%unshared].conns, g.workers[i%unshared].servers
		} else if err := g.connect(ctx, w, i); err != nil {
			return err
		}
		if ttl := g.config.TTL; ttl > 0 && !w.deletes { // no client loads before all have connected
			w.noMiss = now() + ttl - metrics.ExpirySlack
		}
	}
	return g.beginTransactions()
}

// connect opens a worker's connections to all servers concurrently.
func (g *Generator) connect(ctx context.Context, w *worker, lane int) error {
	servers := g.config.Servers()
	conns := make([]driver.Conn, servers)
	group, ctx := errgroup.WithContext(ctx)
	for i := range conns {
		group.Go(func() (err error) {
			if conns[i], w.servers[i], err = g.driver.Dial(ctx, i, lane); err != nil {
				return fmt.Errorf("connect to server %d of %d: %w", i+1, servers, err)
			}
			return nil
		})
	}
	err := group.Wait()
	w.conns = slices.DeleteFunc(conns, func(c driver.Conn) bool { return c == nil })
	return err
}

// Close closes all connections, and then the driver. Calls in flight fail.
func (g *Generator) Close() error { return errors.Join(g.disconnect(), g.driver.Close()) }

// disconnect closes all connections.
func (g *Generator) disconnect() error {
	var errs []error
	for _, w := range g.workers[:g.config.Conns()] { // the others share theirs
		for _, c := range w.conns {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// CallError is the error of a failed call. The result of its operations is unknown.
type CallError struct {
	Server string // its node name
	Ops    int    // operations of the call
	Err    error

	server int
}

func (e *CallError) Error() string {
	return fmt.Sprintf("call of %d operations to server %s: %v", e.Ops, e.Server, e.Err)
}

func (e *CallError) Unwrap() error { return e.Err }

// explain replaces a call's error by the driver's reason, if it has one.
func (g *Generator) explain(ctx context.Context, err error) error {
	var call *CallError
	if errors.As(err, &call) && ctx.Err() == nil {
		if why := g.driver.Explain(ctx, call.server, call.Err); why != nil {
			return &CallError{call.Server, call.Ops, why, call.server}
		}
	}
	return err
}

// each runs f for every worker concurrently and returns the first error. On an error,
// or when ctx ends, it closes all connections, so that no worker waits forever. It
// ignores the errors that follow from the close.
func (g *Generator) each(ctx context.Context, f func(context.Context, *worker) error) error {
	inner, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stop := context.AfterFunc(inner, func() { _ = g.disconnect() }) // the cause says more
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
	g.stored[0] = now()
	defer func() { g.stored[1] = now() }()
	return g.each(ctx, func(ctx context.Context, w *worker) error {
		return w.load(ctx, g.config, workload.Update, "store records %d to %d: %w")
	})
}

// ReadBack reads all values that Store stored, and compares them in full.
func (g *Generator) ReadBack(ctx context.Context) error {
	return g.each(ctx, func(ctx context.Context, w *worker) error {
		return w.load(ctx, g.config, workload.Read, "read records %d to %d back: %w")
	})
}
