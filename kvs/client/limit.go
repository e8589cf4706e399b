package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"kvlab/kvs/engine"
	"kvlab/kvs/loadgen"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
	"kvlab/metrics/usage"
)

// limit is what bounds the work of a configuration, in operations per second.
type limit struct {
	config  Config
	frames  loadgen.Frames
	raw     loadgen.RawRate
	inproc  float64 // the whole work in one process, without a network
	servers int
}

// sayer prints one line of the result under its name.
type sayer func(what, format string, args ...any)

// measureCeiling measures what limits the work of a configuration and logs it.
func measureCeiling(ctx context.Context, node *node.Node, config Config) error {
	host, err := usage.HostFacts()
	if err != nil {
		return err
	}
	engine.TuneCollector(host.MemoryTotalBytes)
	l := &limit{config: config, servers: config.Servers()}
	node.Logf("ceiling of %s on %s with %s: %s of %d bytes, %s, batches of %d operations to %s\n",
		config.Workload.Workload, host.Hostname, format.Plural(host.Cores, "core"), format.Plural(int(config.Workload.Records), "record"), config.ValueSize,
		format.Plural(config.Workers, "worker"), config.Batch, format.Plural(l.servers, "server"))
	say := func(what, format string, args ...any) { node.Logf("%-12s %s", what, fmt.Sprintf(format, args...)) }

	if l.frames, err = loadgen.SampleFrames(config.Config); err != nil {
		return err
	}
	f := l.frames
	say("frames", "a request of %sB and a reply of %sB: %.1f and %.1f bytes per operation", format.Count(f.Request), format.Count(f.Reply), f.Request/f.Ops, f.Reply/f.Ops)
	if l.raw, err = l.measureRaw(ctx); err != nil {
		return err
	}
	say("raw network", "%s ops/s   these frames there and back, and nobody looks into them: %.2f GB/s", format.Count(l.raw.OpsPerS), l.raw.BytesPerS/1e9)
	if l.inproc, err = measureInProcess(ctx, config.Config); err != nil {
		return err
	}
	say("in process", "%s ops/s   draw, %s engine and check, without a network", format.Count(l.inproc), config.Engine)
	l.conclude(say)
	return nil
}

// measureRaw measures the network between two processes on this machine, or to
// the servers that were named.
func (l *limit) measureRaw(ctx context.Context) (loadgen.RawRate, error) {
	c := l.config.Config
	if l.config.Ceiling.Network {
		return loadgen.MeasureRaw(ctx, c, l.frames)
	}
	program, err := serverBeside()
	if err != nil {
		return loadgen.RawRate{}, err
	}
	c.Token = rand.Text()
	server, err := startRawServer(ctx, program, c.Token)
	if err != nil {
		return loadgen.RawRate{}, err
	}
	c.Hosts = slices.Repeat([]string{server.addr}, l.servers)
	rate, err := loadgen.MeasureRaw(ctx, c, l.frames)
	if err != nil {
		_ = server.end() // the error says more
		return rate, err
	}
	return rate, server.stop()
}

// inProcess is the same work without a network.
func inProcess(c loadgen.Config) loadgen.Config {
	c.Transport, c.Retry = loadgen.InProcess, false
	return c
}

// measureInProcess is a whole run without a network.
func measureInProcess(ctx context.Context, c loadgen.Config) (float64, error) {
	g, err := loadgen.New(inProcess(c))
	if err != nil {
		return 0, err
	}
	defer g.Close()
	if err := g.Connect(ctx); err != nil {
		return 0, err
	}
	if err := g.Load(ctx); err != nil {
		return 0, fmt.Errorf("load in process: %w", err)
	}
	if err := g.Measure(ctx, func(metrics.Phase) error { return nil }); err != nil {
		return 0, err
	}
	s := g.Summary()
	if s.Verification.Failures > 0 {
		return 0, fmt.Errorf("in process: %d wrong values, the first: %s", s.Verification.Failures, s.Verification.First)
	}
	return s.OpsPerS(), nil
}

// conclude says what follows from the measurements.
func (l *limit) conclude(say sayer) {
	c := l.config.Ceiling
	opsPerS, why := l.processors()
	between := c.Network || c.machines() > 1 // there is a wire between the nodes
	wire := c.wire(l.servers, l.frames)
	if c.Gbps > 0 {
		say("wire", "%s ops/s   %v Gb/s carry %.3f GB/s of payload each way; %s, %s, balance %.2f", format.Count(wire.Limit()),
			c.Gbps, wire.Goodput/1e9, format.Plural(wire.Servers, "server"), format.Plural(wire.Clients, "client"), wire.Balance)
		if between && wire.Limit() < opsPerS {
			opsPerS, why = wire.Limit(), "the wire's"
		}
	}
	say("limit", "%s ops/s   %s", format.Count(opsPerS), why)
	l.reached(say, "of the limit", opsPerS)
	if c.Gbps > 0 && !between {
		l.reached(say, "of what such a wire would carry", wire.Limit())
	}
}

// processors is the limit that the machines' processors set. They do the work
// of the store and that of the network, so the times add up; many machines do as
// many times more, if all are busy to the end. When the raw network was measured
// between machines, it is a limit of its own.
func (l *limit) processors() (opsPerS float64, why string) {
	if l.config.Ceiling.Network {
		n := 1 + l.servers
		if all := float64(n) * l.inproc; all < l.raw.OpsPerS {
			return all, fmt.Sprintf("%d machines like this one x in process", n)
		}
		return l.raw.OpsPerS, "the raw network's"
	}
	opsPerS, why = stats.Together(l.inproc, l.raw.OpsPerS), "1 / (1/in process + 1/raw network): the same cores do both"
	if n := l.config.Ceiling.machines(); n > 1 {
		return float64(n) * opsPerS, fmt.Sprintf("%d machines like this one x %s", n, why)
	}
	return opsPerS, why
}

// reached says how near what was measured comes to a limit.
func (l *limit) reached(say sayer, of string, limit float64) {
	c := l.config.Ceiling
	if c.Measured == 0 {
		return
	}
	whose := ""
	if c.Against != "" {
		whose = " of " + c.Against
	}
	say("reached", "%.1f %% %s, by %s ops/s%s", 100*c.Measured/limit, of, format.Count(c.Measured), whose)
	if c.Measured > limit {
		say("", "more than all: other work, or another machine; or this one was busier just now: measure both again")
	}
}
