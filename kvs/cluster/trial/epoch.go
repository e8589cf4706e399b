package trial

import (
	"fmt"

	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// epochs returns the clock origins for the processes of a role: the run's beginning by
// the launcher's wall clock and by each process's monotonic clock. No wall clock is
// used afterwards, so setting one has no effect.
func (c *Controller) epochs(role metrics.Role) ([]*node.ClockSync, error) {
	here, err := clock.New()
	if err != nil {
		return nil, fmt.Errorf("begin the run: %w", err)
	}
	var epochs []*node.ClockSync
	for _, m := range c.of(role) {
		e := node.ClockSync{Date: c.began.Round(0), MonotonicNS: here.Ns(c.began)}
		if !c.Plan.Local { // local processes share one clock
			e.MonotonicNS += int64(c.Preflight.ClockOffset(m.Name))
		}
		epochs = append(epochs, &e)
	}
	return epochs, nil
}
