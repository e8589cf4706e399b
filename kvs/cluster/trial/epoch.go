package trial

import (
	"fmt"

	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// epochs are what the members of a role are to date by: the moment when the run
// began, by the launcher's wall clock and each one's monotonic clock. From then on
// no wall clock matters, and it does no harm when one is set.
func (c *Controller) epochs(role metrics.Role) ([]*node.ClockSync, error) {
	here, err := clock.New()
	if err != nil {
		return nil, fmt.Errorf("begin the run: %w", err)
	}
	var epochs []*node.ClockSync
	for _, m := range c.of(role) {
		e := node.ClockSync{Date: c.began.Round(0), MonotonicNS: here.Ns(c.began)}
		if !c.plan.Local { // where all have one clock
			e.MonotonicNS += int64(c.preflight.ClockOffset(m.Name))
		}
		epochs = append(epochs, &e)
	}
	return epochs, nil
}
