// Package trial runs the processes of one trial from their start to their end.
package trial

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"kvlab/kvs/certs"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// Setup configures a Controller.
type Setup struct {
	Plan      plan.Plan
	Runner    *remote.Runner
	Timeouts  Timeouts
	Force     <-chan struct{}    // closed to kill instead of waiting; may be nil
	Stderr    io.Writer          // explanations
	Show      func(Status)       // shows the progress, once a second; may be nil
	Dir       Folder             // of the trial's files
	Preflight *metrics.Preflight // nil when it has not come to its end
	Soak      time.Duration      // length of the window, if no process may grow in it (--soak); else 0
	Barrier   *Barrier           // with the other trial of a pair; nil for none
	Typed     bool               // the window is as long as its flags say, as a ceiling's
	Window    time.Duration      // in an experiment, the least length of a window whose rounds decide it, at least -secs; 0: this is no trial of one

	Batch     uint64                            // a default of -batch above it is lowered to it; 0: none is
	Lowered   int                               // how often that was lowered and the trial made again
	Asked     map[metrics.Role]metrics.Settings // the programs' final flags, before a default of -batch is lowered
	Password  string                            // of the foreign store; "" for none
	Contained *metrics.Containment              // of the servers' programs; nil for none
}

// Controller leads the processes of one trial through the protocol of package
// node. One goroutine owns it.
type Controller struct {
	Setup
	token  string // the run's secret
	secret uint64 // selects the audited keys; not 0
	values string // the key of the values, in hex

	ends   time.Time // the trial's deadline; zero for none
	ticked time.Time // when the launcher last looked at the time
	read   time.Time // when it last asked for readings

	authority *certs.Authority // nil until a certificate is needed

	processes []*process
	latency   *latency.Log // writes latency.hlog once Run has created it
	inbox     chan message
	asked     map[metrics.Role]stage // the last stage that each role may have reached
	phase     metrics.Phase          // the clients' common one, as the servers know it
	entered   time.Time              // when that phase began

	began    time.Time             // when the run began: the origin of all nodes' clocks
	begin    time.Time             // when the warm-up begins, or has begun
	extended bool                  // the warm-up lasts twice as long
	settled  int                   // seconds of it that were tested first
	opening  opening               // of the window, as this trial wishes it until the clients are told
	window   *metrics.WindowLength // nil until then
	batch    uint64                // lowered default of -batch; 0: not lowered

	restart *restart // nil without --restart-at

	slices   metrics.SlicePlan   // that all clients record together; none when they do not
	together *metrics.JointCheck // result of their verification; nil without one
	broken   *metrics.Violation  // in them, nil for nothing
}

// New returns the controller of a trial that has not begun.
func New(s Setup) *Controller {
	now := time.Now()
	if s.Stderr == nil {
		s.Stderr = io.Discard
	}
	c := &Controller{
		Setup: s, token: rand.Text(), secret: newSecret(), values: fmt.Sprintf("%016x%016x", newSecret(), newSecret()),
		latency: latency.NewLog(io.Discard),
		inbox:   make(chan message, 1024),
		asked:   make(map[metrics.Role]stage),
		phase:   metrics.Idle,
		entered: now,
		began:   now,
	}
	if s.Plan.RestartAt > 0 {
		c.restart = new(restart)
	}
	return c
}

// Run starts the processes, drives them to the end, and always stops them.
// The error is a fault, plan.ErrInterrupted, or that of a file in the run's folder.
func (c *Controller) Run(ctx context.Context) error {
	c.ends, _ = ctx.Deadline()
	for _, place := range c.Plan.Places {
		m := &process{Place: place, way: c.Runner.Way(place.Node), phase: metrics.Idle, contained: c.Runner.Contains(place)}
		m.Restarts = c.restart != nil
		var err error
		if m.log, err = openNodeLog(c.Dir, place, m.contained); err != nil {
			return err
		}
		defer m.log.close()
		c.processes = append(c.processes, m)
	}
	file, err := os.Create(c.Dir.Path("latency.hlog"))
	if err != nil {
		return err
	}
	c.latency = latency.NewLog(file)
	err = c.conduct(ctx)
	if f := (*plan.Fault)(nil); errors.As(err, &f) && f.Kind == plan.Hang {
		c.dump()
	}
	err = errors.Join(err, c.stop())
	if f := (*plan.Fault)(nil); errors.As(err, &f) && f.Kind != plan.BadArgs {
		unreached := func(m *process) bool { return m.lost != nil }
		f.Outside = f.Outside || c.phase == metrics.Idle || slices.ContainsFunc(c.processes, unreached)
	}
	if err == nil {
		err = c.finish()
	}
	if unwritten := errors.Join(c.latency.Close(), file.Sync(), file.Close()); unwritten != nil && err == nil {
		err = fmt.Errorf("the logs cannot be written: %w", unwritten)
	}
	return err
}

// conduct runs the protocol, in the order of package node's diagram.
func (c *Controller) conduct(ctx context.Context) error {
	steps := []func() error{
		func() error { return c.start(metrics.Server) },
		func() error { return c.await(ctx, metrics.Server, ready, connectLimit) },
		c.checkSeen,
		func() error { return c.start(metrics.Client) },
		func() error { return c.await(ctx, metrics.Client, ready, connectLimit) },
		c.fitLink,
		func() error {
			c.send(metrics.Client, node.Command{Do: node.Load, Values: c.values})
			c.enter(metrics.Load)
			return nil
		},
		func() error { return c.await(ctx, metrics.Client, loaded, loadLimit) },
		func() error {
			c.fitLoad()
			c.slices = c.slicePlan()
			c.send(metrics.Client, node.Command{Do: node.Draw, Batch: c.batch, Slices: c.slices, Secret: c.secret})
			return c.await(ctx, metrics.Client, drawn, drainLimit)
		},
		func() error { return c.waitLoaded(ctx) },
		func() error {
			lease := c.lease(c.workLimit() + auditLimit)
			c.send(metrics.Server, node.Command{Do: node.Beat, Lease: lease})
			c.ask()
			c.begin = time.Now().Add(lead)
			if c.of(metrics.Client)[0].settings().WarmUp() <= 0 {
				c.readAround(c.begin)
			}
			c.sendAt(c.begin, node.Command{Do: node.Go, Lease: lease})
			c.asked[metrics.Server] = drained
			return c.await(ctx, metrics.Client, drained, c.workLimit())
		},
		// A server that has not entered the drain would count the audit in its window.
		func() error { return c.await(ctx, metrics.Server, drained, drainLimit) },
		func() error { c.ask(); c.send(metrics.Client, node.Command{Do: node.Audit}); return nil },
		func() error { return c.await(ctx, metrics.Client, done, auditLimit) },
		func() error { c.ask(); c.send(metrics.Server, node.Command{Do: node.Stop}); return nil },
		func() error { return c.await(ctx, metrics.Server, done, reportLimit) },
		func() error { return c.await(ctx, metrics.Client, left, c.Timeouts.Exit) },
		func() error { return c.await(ctx, metrics.Server, left, c.Timeouts.Exit) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// finish records in the nodes' files that the run has come to its end. Its error is the first
// of what was recorded there.
func (c *Controller) finish() (err error) {
	for _, m := range c.processes {
		m.arrive(c.runTime(time.Now()), metrics.Arrival{Event: metrics.Finished})
		err = cmp.Or(err, m.unwritten)
	}
	return err
}

// await waits until every process of a role has reached a stage.
func (c *Controller) await(ctx context.Context, role metrics.Role, want stage, limit time.Duration) error {
	c.asked[role] = want
	return c.listen(ctx, nil, limit, want, func() *process { return c.behind(role, want) })
}

// listen handles messages until no process is late for a stage, or over closes.
func (c *Controller) listen(ctx context.Context, over <-chan opening, limit time.Duration, want stage, behind func() *process) error {
	c.ticked = time.Now()
	ends := c.ticked.Add(limit)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		late := behind()
		if late == nil {
			return nil
		}
		select {
		case <-over:
			return nil
		case m := <-c.inbox:
			if f := c.handle(m); f != nil {
				return c.rootCause(f)
			}
		case <-tick.C:
			now := time.Now()
			ends = ends.Add(c.stopped(now))
			// While messages wait in the inbox, no process counts as silent.
			if m := silent(c.processes, now, c.Timeouts.Silence); m != nil && len(c.inbox) == 0 {
				return c.unresponsive(m, "has sent nothing for %s", c.Timeouts.Silence)
			}
			if now.After(ends) {
				return c.unresponsive(late, "was not %s within %s", stageNames[want], limit)
			}
			c.beat()
			if now.Sub(c.read) >= c.readEvery() {
				c.ask()
			}
			if c.Show != nil {
				c.Show(c.status(now))
			}
		case <-ctx.Done():
			return c.cut(ctx, late, want)
		}
	}
}

// stageNames are the names of the stages that await waits for.
var stageNames = map[stage]string{ready: "ready", loaded: "loaded", drawn: "ready to begin", drained: "drained", done: "done", left: "gone"}

// behind returns a process of the role that has not reached the stage, or nil.
func (c *Controller) behind(role metrics.Role, want stage) *process {
	for _, m := range c.of(role) {
		if m.stage < want {
			return m
		}
	}
	return nil
}

// of returns the processes with a role, in the order of their numbers.
func (c *Controller) of(role metrics.Role) []*process {
	return c.those(func(m *process) bool { return m.Role == role })
}

// those returns the processes that keep accepts.
func (c *Controller) those(keep func(*process) bool) []*process {
	return slices.DeleteFunc(slices.Clone(c.processes), func(m *process) bool { return !keep(m) })
}

func (c *Controller) send(role metrics.Role, command node.Command) {
	for _, m := range c.of(role) {
		m.send(command)
	}
}

// handle processes a message, and returns the fault that it reports, if any.
func (c *Controller) handle(msg message) *plan.Fault {
	m := msg.from
	switch {
	case msg.read:
		c.ask()
		return nil
	case msg.pair != nil:
		c.agree(*msg.pair)
		return nil
	case m == nil:
		c.killServer()
		return nil
	}
	if msg.event.Event != node.Answered { // a node that hangs may answer questions
		m.heard = time.Now()
	}
	switch {
	case msg.ended && c.restart.expects(m):
		return c.revive(m)
	case msg.ended:
		return m.end(msg.err)
	case msg.err != nil:
		return m.complaint(msg.err)
	}
	return c.hear(m, msg.event, msg.at)
}

// hear is handle for an event. at is the time of its message.
func (c *Controller) hear(m *process, event node.Event, at time.Time) *plan.Fault {
	switch event.Event {
	case node.Log, node.Output:
	case node.Report:
		if config := event.Record.Config; config != nil && !slices.Equal(config.Args, m.args) {
			return m.fault(plan.Complaint, "reports the arguments %q, it was given %q", config.Args, m.args)
		}
		m.keepRecord(event.Record)
		if err := c.latency.Add(*event.Record); err != nil {
			return m.complaint(err)
		}
	case node.Answered:
		if !c.answer(m, event.Answer, at) {
			return m.fault(plan.Complaint, "sent %q out of turn", event.Event)
		}
	case node.Profiled:
		return c.keepProfile(m, event)
	case node.Dumped:
		m.dumped = true
	case node.Contained:
		if event.PeakBytes > 0 { // the last one is of what contains it: all inside have ended
			m.peak = event.PeakBytes
		} else if m.outside = event.Process; m.outside == nil || !m.contained {
			return m.fault(plan.Complaint, "sent %q out of turn", event.Event)
		}
	case node.Phase:
		m.phase = event.Phase
		m.arrive(c.runTime(at), metrics.Arrival{Event: string(event.Phase)})
		c.enter(commonPhase(c.of(metrics.Client)))
	case node.Warm:
		return c.settle(m, seconds(event.RoundS))
	case node.Error:
		return c.blame(m, event)
	default:
		next, known := stageOf[event.Event]
		if !known || next > c.asked[m.Role] || next <= m.stage {
			return m.fault(plan.Complaint, "sent %q out of turn", event.Event)
		}
		switch {
		case next == done && m.Summary == nil:
			return m.fault(plan.Complaint, "is done and has sent no summary")
		case m.owed > 0:
			return m.fault(plan.Complaint, "is %s and has not answered what its clocks say", stageNames[next])
		}
		m.stage, m.address = next, cmp.Or(event.Addr, m.address)
		if next == loaded {
			m.round = seconds(event.RoundS)
		}
		if c.restart != nil && m == c.restart.second && next == ready {
			m.arrive(c.runTime(at), metrics.Arrival{Event: metrics.Ready})
		}
	}
	return nil
}

// blame returns the fault of a node's error: that of the server that the node names, or its own.
func (c *Controller) blame(m *process, event node.Event) *plan.Fault {
	m.failed = true
	if event.Usage {
		return m.fault(plan.BadArgs, "%s", event.Text)
	}
	for _, server := range c.of(metrics.Server) {
		switch peer := event.Peer; {
		case peer == "" || peer != server.Name && peer != server.address: // a foreign store has no name
		case event.Lost:
			return server.fault(plan.Crash, "%s", event.Text)
		case c.outlasts() != "":
			return m.fault(plan.BadArgs, "%s: %s", event.Text, c.outlasts())
		default:
			f := c.unresponsive(server, "does not answer %s: %s", m.Name, event.Text)
			server.unresponsive = !server.foreign() // its host answers
			return f
		}
	}
	f := m.fault(plan.Complaint, "%s", event.Text)
	f.Outside = event.Ended
	return f
}

// rootCause waits for a fault closer to the root cause than a complaint: when a server
// dies, its clients often report their broken connections first.
func (c *Controller) rootCause(best *plan.Fault) error {
	found := c.handleUntil(c.Timeouts.Grace, nil, func(f *plan.Fault) bool {
		if f != nil && f.Node != best.Node && f.CloserThan(best) {
			best = f
		}
		return best.Kind != plan.Complaint
	})
	if !found && best.Role == metrics.Client {
		// A server that has missed several heartbeats hangs.
		if server := silent(c.of(metrics.Server), time.Now(), c.Timeouts.Silence/4); server != nil {
			return c.unresponsive(server, "has stopped answering; %v", best)
		}
	}
	return best
}
