package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kvlab/kvs/driver"
	"kvlab/kvs/engine"
	"kvlab/kvs/loadgen"
	"kvlab/kvs/node"
	"kvlab/kvs/target"
	"kvlab/kvs/value"
	"kvlab/kvs/wire"
	"kvlab/metrics"
)

// Host parses the command line of a node that starts a team's own client in place of a client.
type Host func(args []string) (*node.Flags, node.Work, error)

// host is nil in a program without one.
var host Host

// LinkHost gives the program a Host. It is called before Program.
func LinkHost(h Host) { host = h }

// Program returns kvsclient, which drives kvlab's servers and the stores of some drivers.
func Program(foreign ...driver.Row) node.Program {
	return node.Program{
		Name: "kvsclient", Role: metrics.Client, Protocols: wire.Versions,
		Parse: func(args []string) (*node.Flags, node.Work, error) {
			if target.Named(args, metrics.ProgramFlag, "system") != "" {
				if host == nil {
					return nil, nil, node.UsageError{Err: errors.New("-program: only the plain kvsclient starts a team's client")}
				}
				return host(args)
			}
			c, flags, err := parse(args, foreign...)
			return flags, c.run, err
		},
	}
}

// client is the running process.
type client struct {
	config    config
	node      *node.Node
	generator *loadgen.Generator
	reporter  *node.Reporter
	collected time.Duration // when latencies were collected last, by loadgen.Clock
}

func (config config) run(ctx context.Context, n *node.Node, token string) (err error) {
	servers := slices.ContainsFunc(config.Hosts, func(host string) bool { return host != "" })
	if n.Controlled() && config.Transport == driver.InProcess && servers { // without servers the run is a ceiling
		return node.UsageError{Err: errors.New("-transport inproc: it needs no server and so no launcher: run bin/kvsclient -transport inproc")}
	}
	if config.VerifyHistory != "" {
		if n.Controlled() {
			return node.UsageError{Err: errors.New("-verify-history: it needs no launcher: run bin/kvsclient -verify-history")}
		}
		return verifyHistory(n, config.VerifyHistory)
	}
	config.Token, config.Settings = token, n.Reveal(config.Settings)
	if config.Transport == driver.TCP {
		if config.TLS, err = n.TLS(); err != nil {
			return err
		}
	}
	c := &client{config: config, node: n}
	if c.generator, err = loadgen.New(config.Config); err != nil {
		return node.UsageError{Err: err}
	}
	n.WindowClock = loadgen.Clock
	if c.reporter, err = node.NewReporter(n, c.generator.Counts, c.log); err != nil {
		return err
	}
	host, err := n.ReportConfig(c.generator.Capabilities())
	if err != nil {
		return err
	}
	if config.Transport == driver.InProcess {
		engine.TuneCollector(host.MemoryTotalBytes)
	}
	err = c.reporter.Run(ctx, c.trial)
	c.generator.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return blame(err)
	}
	return c.summarize()
}

// blame returns an error that names the server as the cause, if a reply is missing or
// the server has lost its store.
func blame(err error) error {
	var call *loadgen.CallError
	var restarted *wire.RestartedError
	if errors.As(err, &restarted) {
		return node.PeerError{Node: restarted.Node, Err: restarted, Lost: true}
	}
	if errors.As(err, &call) && errors.Is(err, wire.ErrTimeout) {
		return node.PeerError{Node: call.Server, Err: err}
	}
	return err
}

// trial runs the client through the barriers.
func (c *client) trial(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	start, err := c.node.Await(ctx, node.Load)
	if err != nil {
		return err
	}
	key, err := value.ParseKey(start.Values)
	if err != nil {
		return err
	}
	c.generator.SetKey(key)
	if err := c.load(ctx); err != nil {
		return err
	}
	if err := c.draw(ctx); err != nil {
		return err
	}
	if start, err = c.node.Await(ctx, node.Go); err != nil {
		return err
	}
	c.generator.Begins = c.node.FromRun(start.At)
	if c.node.Controlled() {
		c.generator.Settle = c.settle
	}
	if err := c.generator.Measure(ctx, c.enter); err != nil {
		return err
	}
	if err := c.audit(ctx); err != nil {
		return err
	}
	return c.enter(metrics.Done)
}

// audit reads this client's share of the audited keys when all clients have drained.
func (c *client) audit(ctx context.Context) error {
	if err := c.node.Send(node.Event{Event: node.Drained}); err != nil {
		return err
	}
	if _, err := c.node.Await(ctx, node.Audit); err != nil {
		return err
	}
	record, err := c.generator.Audit(ctx)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	if record == nil {
		return nil
	}
	return c.node.Report(metrics.Record{Audit: record})
}

func (c *client) connect(ctx context.Context) error {
	if err := c.generator.Connect(ctx); err != nil {
		return err
	}
	if err := c.generator.CheckLeft(ctx); err != nil {
		return err
	}
	name, peer := "lo", c.config.Addresses()[0]
	if c.reporter.SetInterface(name); driver.Network(peer) != "unix" {
		var err error
		if name, err = c.reporter.SetPeer(peer); err != nil {
			return err
		}
	}
	c.node.Logf("connected: %d workers to %d servers, over %d connections to each, data interface %s", c.config.Workers, c.config.Servers(), c.config.Conns(), name)
	return c.node.Send(node.Event{Event: node.Connected})
}

func (c *client) load(ctx context.Context) error {
	if err := c.enter(metrics.Load); err != nil {
		return err
	}
	begun := time.Now()
	if err := c.generator.Store(ctx); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	stored := time.Now()
	if err := c.generator.ReadBack(ctx); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	store, read := stored.Sub(begun), time.Since(stored)
	c.node.Logf("loaded: %d records stored in %.3f s and read back in %.3f s", c.generator.Counts().Puts, store.Seconds(), read.Seconds())
	return c.node.Send(node.Event{Event: node.Loaded, RoundS: c.generator.RoundAfter(store, read).Seconds()})
}

// draw draws the first rounds, with the launcher's batch if the default is too large.
func (c *client) draw(ctx context.Context) error {
	told, err := c.node.Await(ctx, node.Draw)
	if err != nil {
		return err
	}
	g := c.generator
	g.Batch, g.Secret, g.Slices = int(told.Batch), told.Secret, told.Slices
	g.Share = func(s metrics.Slice) error { return c.node.Report(metrics.Record{Slice: &s}) }
	if told.Batch > 0 {
		if err := c.node.Reset("batch", fmt.Sprint(told.Batch), g.Capabilities()); err != nil {
			return err
		}
	}
	if err := g.Draw(ctx); err != nil {
		return err
	}
	return c.node.Send(node.Event{Event: node.Drawn})
}

// settle asks the launcher, which knows the state of all clients, when the window opens, and
// its length.
func (c *client) settle(ctx context.Context, round time.Duration) (opens time.Time, length time.Duration, err error) {
	if err := c.reporter.Cut(); err != nil {
		return opens, 0, err
	}
	if err := c.node.Send(node.Event{Event: node.Warm, RoundS: round.Seconds()}); err != nil {
		return opens, 0, err
	}
	answer, err := c.node.Await(ctx, node.Settle)
	if answer.Extend {
		c.node.Logf("the rates have not settled: warm-up for %v more", c.config.WarmUp)
	}
	return c.node.FromRun(answer.At), time.Duration(answer.Length * float64(time.Second)), err
}

// enter records the phase and reports it to the launcher.
func (c *client) enter(phase metrics.Phase) error {
	if err := c.reporter.Enter(phase); err != nil {
		return err
	}
	c.node.Logf("phase %s", phase)
	return c.node.Send(node.Event{Event: node.Phase, Phase: phase})
}
