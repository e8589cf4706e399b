package cluster

import (
	"context"
	"errors"
	"time"

	"kvlab/kvs/certs"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/format"
	"kvlab/metrics/stats"
)

// conductor leads the members of one run through the protocol of package
// control. One goroutine owns it.
type conductor struct {
	plan    plan.Plan
	backend *remote.Runner
	limits  limits
	token   string
	force   <-chan struct{} // closed to kill instead of waiting; may be nil
	display *display

	preflight *metrics.Preflight // nil when it has not come to its end
	ceiling   *metrics.Ceiling   // beside no result yet; nil when there is none

	barrier  *barrier      // with the other trial of a pair; nil for none
	soak     time.Duration // length of the window, if no process may grow in it (--soak); else 0
	deadline time.Duration // of the trial; 0 for none
	ends     time.Time     // when it is reached

	authority *certs.Authority // nil until a certificate is needed

	members []*member
	latency *latencyLog // nil before the nodes start
	inbox   chan message
	asked   map[metrics.Role]stage // how far each role may come by now
	phase   metrics.Phase          // the clients' common one, as the servers know it
	entered time.Time              // when that phase began

	began    time.Time           // when the run did: what all nodes date by
	begin    time.Time           // when the warm-up begins, or has begun
	warmUp   *stats.Stationarity // what the test of the warm-up found; nil when it is too short for one
	extended bool                // the warm-up lasts twice as long
	settled  int                 // seconds of it that were tested first

	slices   metrics.SlicePlan   // that all clients record together; none when they do not
	together *metrics.JointCheck // what was found in them; nil when nobody looked
	broken   *metrics.Violation  // in them, nil for nothing
}

func newConductor(plan plan.Plan, b *remote.Runner, l limits, token string, force <-chan struct{}, d *display) *conductor {
	return &conductor{
		plan: plan, backend: b, limits: l, token: token, force: force, display: d,
		inbox:   make(chan message, 1024),
		asked:   make(map[metrics.Role]stage),
		phase:   metrics.Idle,
		entered: time.Now(),
		began:   time.Now(),
	}
}

// run carries the run out and leaves no process behind. The error is a fault,
// or errInterrupted.
func (c *conductor) run(ctx context.Context, dir folder) error {
	for _, place := range c.plan.Places {
		log, err := openNodeLog(dir, place)
		if err != nil {
			return &plan.Fault{Reason: format.OneLine(err.Error())}
		}
		defer log.close()
		c.members = append(c.members, &member{Place: place, log: log, way: c.backend.Way(place.Node), phase: metrics.Idle})
	}
	var err error
	if c.latency, err = createLatencyLog(dir); err != nil {
		return &plan.Fault{Reason: format.OneLine(err.Error())}
	}
	defer c.display.clear()
	err = c.conduct(ctx)
	if f := (*plan.Fault)(nil); errors.As(err, &f) && f.Kind == plan.Hang {
		c.dump()
	}
	return c.closeLatency(errors.Join(err, c.stop()))
}

// conduct is the protocol, in the order of package node's diagram.
func (c *conductor) conduct(ctx context.Context) error {
	steps := []func() error{
		func() error { return c.start(metrics.Server) },
		func() error { return c.await(ctx, metrics.Server, ready, c.limits.connect) },
		func() error { return c.start(metrics.Client) },
		func() error { return c.await(ctx, metrics.Client, ready, c.limits.connect) },
		func() error {
			c.tell(metrics.Client, node.Command{Do: node.Load})
			c.enter(metrics.Load)
			return nil
		},
		func() error { return c.await(ctx, metrics.Client, loaded, c.limits.load) },
		func() error { return c.waitLoaded(ctx) },
		func() error {
			lease := c.workLease()
			c.tell(metrics.Server, node.Command{Do: node.Beat, Lease: lease})
			c.begin = time.Now().Add(c.limits.lead)
			c.slices = c.slicePlan()
			c.tellAt(c.begin, node.Command{Do: node.Go, Lease: lease, Slices: c.slices})
			return nil
		},
		func() error { return c.await(ctx, metrics.Client, done, c.workLimit()) },
		func() error { c.tell(metrics.Server, node.Command{Do: node.Stop}); return nil },
		func() error { return c.await(ctx, metrics.Server, done, c.limits.report) },
		func() error { return c.await(ctx, metrics.Client, left, c.limits.exit) },
		func() error { return c.await(ctx, metrics.Server, left, c.limits.exit) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// start starts the processes of a role and tells each its arguments.
func (c *conductor) start(role metrics.Role) error {
	var hosts []string
	for _, m := range c.of(metrics.Server) {
		hosts = append(hosts, m.address)
	}
	epochs, err := c.epochs(role)
	if err != nil {
		return &plan.Fault{Reason: format.OneLine(err.Error())}
	}
	for i, m := range c.of(role) {
		if err := m.start(c.backend.Command(m.Place, remote.AsNode), c.inbox); err != nil {
			return m.fault(plan.Crash, "cannot be started: %v", err)
		}
		args := c.plan.Args(m.Place, i, hosts)
		own, err := c.credentials(m.Place, args)
		if err != nil {
			return m.fault(plan.Crash, "cannot be started: %v", err)
		}
		m.send(node.Command{Do: node.Start, Args: args, Token: c.token, Trust: own, Epoch: epochs[i], Lease: c.startLease(), Cores: c.plan.Cores[role], GCS: c.collectEvery().Seconds()})
	}
	return nil
}

// await waits until every member of a role has reached a stage.
func (c *conductor) await(ctx context.Context, role metrics.Role, want stage, limit time.Duration) error {
	c.asked[role] = want
	return c.listen(ctx, nil, limit, want, func() *member { return c.behind(role, want) })
}

// listen hears the members until none is late for a stage, or may be, as what it
// waits for is over.
func (c *conductor) listen(ctx context.Context, over <-chan struct{}, limit time.Duration, want stage, behind func() *member) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	beat := time.NewTicker(c.limits.beat)
	defer beat.Stop()
	for {
		late := behind()
		if late == nil {
			return nil
		}
		select {
		case <-over:
			return nil
		case m := <-c.inbox:
			if f := c.hear(m); f != nil {
				return c.blame(f)
			}
		case <-tick.C:
			if m := c.silent(time.Now()); m != nil {
				return c.hung(m, "has sent nothing for %s", c.limits.silence)
			}
			c.display.show(c.status())
		case <-beat.C:
			c.beat()
		case <-deadline.C:
			return c.hung(late, "was not %s within %s", stageNames[want], limit)
		case <-ctx.Done():
			return c.cut(ctx, late, want)
		}
	}
}

// stageNames are the words for what await waits for.
var stageNames = map[stage]string{ready: "ready", loaded: "loaded", done: "done", left: "gone"}

// behind returns a member of the role that has not reached the stage, or nil.
func (c *conductor) behind(role metrics.Role, want stage) *member {
	for _, m := range c.of(role) {
		if m.stage < want {
			return m
		}
	}
	return nil
}

// of returns the members with a role, in the order of their numbers.
func (c *conductor) of(role metrics.Role) []*member {
	var members []*member
	for _, m := range c.members {
		if m.Role == role {
			members = append(members, m)
		}
	}
	return members
}

// server returns the server of a name, or nil.
func (c *conductor) server(name string) *member {
	for _, m := range c.of(metrics.Server) {
		if m.Name == name {
			return m
		}
	}
	return nil
}

func (c *conductor) tell(role metrics.Role, command node.Command) {
	for _, m := range c.of(role) {
		m.send(command)
	}
}

// hear takes a message in, and returns the fault that it amounts to.
func (c *conductor) hear(msg message) *plan.Fault {
	m := msg.from
	m.heard = time.Now()
	var disk diskError
	switch onDisk := errors.As(msg.err, &disk); {
	case msg.ended:
		if f := m.end(msg.err); f == nil || !onDisk {
			return f
		}
		fallthrough
	case onDisk:
		return disk.fault()
	case msg.err != nil:
		return m.fault(plan.Complaint, "%v", msg.err)
	}
	event := msg.event
	switch event.Event {
	case node.Log:
	case node.Report:
		m.note(event.Record)
		return c.time(m, event.Record)
	case node.Dumped:
		m.dumped = true
	case node.Phase:
		m.phase = event.Phase
		c.enter(commonPhase(c.of(metrics.Client)))
	case node.Warm:
		return c.settle(m)
	case node.Error:
		m.failed = true
		if event.Usage {
			return m.fault(plan.BadArgs, "%s", event.Text)
		}
		if server := c.server(event.Peer); server != nil && event.Lost {
			return server.fault(plan.Crash, "%s", event.Text)
		} else if server != nil {
			return c.hung(server, "does not answer %s: %s", m.Name, event.Text)
		}
		return m.fault(plan.Complaint, "%s", event.Text)
	default:
		next, known := stageOf[event.Event]
		if !known || next > c.asked[m.Role] || next <= m.stage {
			return m.fault(plan.Complaint, "sent %q out of turn", event.Event)
		}
		return m.reach(next, event)
	}
	return nil
}

// silent returns a running member that has sent nothing for too long, or nil.
// Before its first message a node has the time that a login may take. A launcher
// that was itself stopped for a while (Ctrl-Z, a suspended laptop) finds a full
// inbox, and knows nothing of anybody's silence.
func (c *conductor) silent(now time.Time) *member {
	if len(c.inbox) > 0 {
		return nil
	}
	for _, m := range c.members {
		if !m.heard.IsZero() && m.stage < done && now.Sub(m.heard) > c.limits.silence {
			return m
		}
	}
	return nil
}

// hung is the fault of a member that should have acted.
func (c *conductor) hung(m *member, format string, args ...any) *plan.Fault {
	m.hung = true
	return m.fault(plan.Hang, format, args...)
}

// blame waits a moment for a better explanation of a complaint: when a server
// dies, its clients' broken connections are often heard of first.
func (c *conductor) blame(best *plan.Fault) error {
	grace := time.NewTimer(c.limits.grace)
	defer grace.Stop()
	for best.Kind == plan.Complaint {
		select {
		case msg := <-c.inbox:
			if f := c.hear(msg); f != nil && f.Node != best.Node && f.CloserThan(best) {
				best = f
			}
		case <-grace.C:
			if server := c.quietServer(time.Now()); server != nil && best.Role == metrics.Client {
				return c.hung(server, "has stopped answering; %v", best)
			}
			return best
		}
	}
	return best
}

// quietServer returns a running server that has missed several of its signs of
// life, or nil.
func (c *conductor) quietServer(now time.Time) *member {
	for _, m := range c.of(metrics.Server) {
		if m.stage < done && now.Sub(m.heard) > c.limits.silence/4 {
			return m
		}
	}
	return nil
}
