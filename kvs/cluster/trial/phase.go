package trial

import (
	"slices"
	"time"

	"kvlab/kvs/node"
	"kvlab/metrics"
)

// enter reports the clients' phase to the servers.
func (c *Controller) enter(phase metrics.Phase) {
	if phase == c.phase || order[phase] < order[c.phase] {
		return
	}
	c.phase, c.entered = phase, time.Now()
	if phase == metrics.Window && c.extended {
		c.test(c.settled) // the second half of the warm-up, at its end
	}
	if phase == metrics.Window {
		c.awaitKill()
	}
	length := c.opening.length
	if length == 0 { // without a warm-up, it may be longer than asked
		length = c.of(metrics.Client)[0].settings().Secs()
	}
	c.send(metrics.Server, node.Command{Do: node.Phase, Phase: phase, Length: length.Seconds()})
}

// order is the order of phases.
var order = map[metrics.Phase]int{metrics.Idle: 0, metrics.Load: 1, metrics.WarmUp: 2, metrics.Window: 3, metrics.Drain: 4, metrics.Done: 5}

// commonPhase returns the common phase of all clients: the earliest of theirs, so that a
// server's window lies in every client's window, but the drain as soon as one client
// drains.
func commonPhase(clients []*process) metrics.Phase {
	byPhase := func(a, b *process) int { return order[a.phase] - order[b.phase] }
	if order[slices.MaxFunc(clients, byPhase).phase] >= order[metrics.Drain] {
		return metrics.Drain
	}
	return slices.MinFunc(clients, byPhase).phase
}

// collectEvery returns the interval at which nodes force a garbage collection in a soak:
// a hundredth of the window, at least one second. Live memory is known only after a
// collection, and a collection costs the servers time. Other runs have 0: never. The Go
// runtime itself collects every two minutes.
func (c *Controller) collectEvery() time.Duration {
	if c.Soak == 0 {
		return 0
	}
	return min(max(c.Soak/100, time.Second), 2*time.Minute)
}
