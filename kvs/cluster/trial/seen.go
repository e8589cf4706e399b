package trial

import (
	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// checkSeen refuses a soak, and a pair of trials at the same time, if a foreign store's process
// is not sampled. Both are judged by that process alone.
func (c *Controller) checkSeen() error {
	for _, m := range c.of(metrics.Server) {
		can := metrics.AllCapabilities
		if m.Config != nil && m.Config.Capabilities != nil {
			can = *m.Config.Capabilities
		}
		switch {
		case can.Unseen == "":
		case c.Soak > 0:
			return m.fault(plan.BadArgs, "--soak: nobody sees whether the store grows: %s", can.Unseen)
		case c.Barrier != nil:
			return m.fault(plan.BadArgs, "--together compares the processor time of an operation, and nobody sees that of the store: %s: want --ab alone", can.Unseen)
		}
	}
	return nil
}
