package trial

import (
	"kvlab/kvs/node"
	"kvlab/metrics/clock"
)

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
