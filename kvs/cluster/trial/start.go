package trial

import (
	"net/netip"
	"slices"

	"kvlab/kvs/certs"
	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// start starts the processes of a role and tells each its arguments.
func (c *Controller) start(role metrics.Role) error {
	var hosts []string
	for _, m := range c.of(metrics.Server) {
		hosts = append(hosts, m.address)
	}
	here := clock.New()
	for i, m := range c.of(role) {
		if f := c.launch(m, c.Plan.Args(m.Place, i, hosts), here, c.lease(2*connectLimit+loadLimit)); f != nil {
			return f
		}
	}
	return nil
}

// launch starts a process and tells it its arguments.
func (c *Controller) launch(m *process, args []string, here clock.Clock, lease *node.Lease) *plan.Fault {
	if path := c.Runner.Trace(m.Place); path != "" && plan.HasFlag(args, "replay") {
		args = slices.Concat(args, []string{plan.Arg("replay-file", path)})
	}
	m.args = args
	own, err := c.credentials(m.Place, args)
	if err == nil {
		err = m.start(c.Runner, c.inbox)
	}
	if err != nil {
		return m.fault(plan.Crash, "cannot be started: %v", err)
	}
	m.send(node.Command{
		Do: node.Start, Args: args, Token: c.token, Password: c.Password, Trust: own, Clock: c.epoch(here, m.Name), Lease: lease,
		Cores: c.Plan.Cores[m.Role], GCS: c.collectEvery().Seconds(), Contain: c.Runner.StoreWords(m.Place),
	})
	return nil
}

// credentials returns a place's credentials, nil if its arguments need none. They are
// sent over the control pipe and never written to a file.
func (c *Controller) credentials(place plan.Place, args []string) (*certs.Credentials, error) {
	if !plan.HasFlag(args, plan.EncryptionFlag) {
		return nil, nil
	}
	data, err := netip.ParseAddr(place.Data)
	if err == nil && c.authority == nil {
		c.authority, err = certs.NewAuthority(c.Plan.Trusted())
	}
	if err != nil {
		return nil, err
	}
	own, err := c.authority.Issue(place.Name, data)
	return &own, err
}

// epoch returns the clock origin for a process: the run's beginning by the launcher's wall
// clock and by the process's monotonic clock. No wall clock is used afterwards, so setting
// one has no effect.
func (c *Controller) epoch(here clock.Clock, name string) *node.ClockSync {
	e := node.ClockSync{Date: c.began.Round(0), MonotonicNS: here.Ns(c.began)}
	if !c.Plan.Local { // local processes share one clock
		e.MonotonicNS += int64(c.Preflight.ClockOffset(name))
	}
	return &e
}
