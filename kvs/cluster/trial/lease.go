package trial

import (
	"time"

	"kvlab/kvs/node"
)

// lease returns a lease for the limit of a node's work and its reports. The limit on
// silence applies only across a network, which may fail: on this machine the pipe closes
// when the launcher ends, and a launcher that the user suspended still exists.
func (c *Controller) lease(work time.Duration) *node.Lease {
	var lease node.Lease
	if !c.ends.IsZero() {
		work = min(work, time.Until(c.ends))
	}
	if work < unlimited {
		lease.LifetimeS = (work + reportLimit + c.Timeouts.Exit).Seconds()
	}
	if !c.Plan.Local {
		lease.SilenceS = c.Timeouts.Alone.Seconds()
	}
	return &lease
}

// beat sends a heartbeat to the nodes on other machines.
func (c *Controller) beat() {
	if c.Plan.Local {
		return
	}
	for _, m := range c.running() {
		m.send(node.Command{Do: node.Beat})
	}
}
