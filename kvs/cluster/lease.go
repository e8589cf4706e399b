package cluster

import (
	"time"

	"kvlab/kvs/node"
)

// startLease is for nodes that start now: they may live until every record is
// loaded.
func (c *conductor) startLease() *node.Lease {
	return c.lease(2*c.limits.connect + c.limits.load)
}

// workLease is for nodes that begin with the work now.
func (c *conductor) workLease() *node.Lease {
	return c.lease(c.workLimit())
}

// lease lets a node live as long as its work may take, and a while for the
// reports. Silence counts only where there is a network that can be cut: a pipe
// on this machine closes with the launcher, however that ends, and a launcher
// that the user has suspended is not gone.
func (c *conductor) lease(work time.Duration) *node.Lease {
	var lease node.Lease
	if !c.ends.IsZero() {
		work = min(work, time.Until(c.ends))
	}
	if work < unlimited {
		lease.LifetimeS = (work + c.limits.report + c.limits.exit).Seconds()
	}
	if !c.plan.Local {
		lease.SilenceS = c.limits.alone.Seconds()
	}
	return &lease
}

// beat tells the nodes on the other side of a network that the launcher lives.
func (c *conductor) beat() {
	if c.plan.Local {
		return
	}
	for _, m := range c.running() {
		m.send(node.Command{Do: node.Beat})
	}
}
