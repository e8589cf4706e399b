package trial

import (
	"fmt"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/target"
	"kvlab/metrics"
	"kvlab/metrics/latency"
)

// Status is the state of a trial under way.
type Status struct {
	Phase   string        // "window 12/30 s"
	Left    time.Duration // until its clients have drained; the time of a load is not known, and not in it
	OpsPerS float64       // of all clients in their last interval
	P99     *float64      // of the calls in the window so far, in us; nil if they are too few
}

// status returns the state of the trial.
func (c *Controller) status(now time.Time) Status {
	clients := c.of(metrics.Client)
	calls := c.latency.Window.Call
	s := Status{P99: latency.QuantilesOf(calls, uint64(calls.TotalCount())).P99}
	for _, m := range clients {
		s.OpsPerS += m.interval.OpsPerS()
	}
	warmUp, window := c.warmUpLength(), c.leastWindow()
	if c.window != nil {
		warmUp, window = max(warmUp, c.opening.at.Sub(c.begin)), seconds(c.window.UsedS)
	}
	var length time.Duration // of the phase
	elapsed := now.Sub(c.entered)
	switch s.Left = warmUp + window; c.phase {
	case metrics.WarmUp:
		length, s.Left = warmUp, s.Left-elapsed
	case metrics.Window:
		length, s.Left = window, window-elapsed
	case metrics.Drain, metrics.Done:
		s.Left = 0
	}
	s.Left = max(s.Left, 0)
	s.Phase = fmt.Sprintf("%s %.0f s", c.phase, elapsed.Seconds())
	if length > 0 {
		s.Phase = fmt.Sprintf("%s %.0f/%.0f s", c.phase, elapsed.Seconds(), length.Seconds())
	}
	over := elapsed - window
	if c.phase == metrics.Window && over > time.Second && plan.HasFlag(c.Plan.ClientArgs, metrics.ProgramFlag) {
		s.Left = max(target.EndsWithin-over, 0)
		s.Phase = fmt.Sprintf("waiting for the client to end, at most %.0f s", s.Left.Seconds())
	}
	return s
}
