package trial

import (
	"time"

	"kvlab/kvs/node"
)

// startLease is for nodes that start now: they may live until every record is
// loaded.
func (c *Controller) startLease() *node.Lease {
	return c.lease(2*c.timeouts.Connect + c.timeouts.Load)
}

// workLease is for nodes that begin with the work now.
func (c *Controller) workLease() *node.Lease {
	return c.lease(c.workLimit())
}

// lease lets a node live as long as its work may take, and a while for the
// reports. Silence counts only where there is a network that can be cut: a pipe
// on this machine closes with the launcher, however that ends, and a launcher
// that the user has suspended is not gone.
func (c *Controller) lease(work time.Duration) *node.Lease {
	var lease node.Lease
	if !c.ends.IsZero() {
		work = min(work, time.Until(c.ends))
	}
	if work < unlimited {
		lease.LifetimeS = (work + c.timeouts.Report + c.timeouts.Exit).Seconds()
	}
	if !c.plan.Local {
		lease.SilenceS = c.timeouts.Alone.Seconds()
	}
	return &lease
}

// beat tells the nodes on the other side of a network that the launcher lives.
func (c *Controller) beat() {
	if c.plan.Local {
		return
	}
	for _, m := range c.running() {
		m.send(node.Command{Do: node.Beat})
	}
}
