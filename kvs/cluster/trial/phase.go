package trial

import (
	"time"

	"kvlab/kvs/node"
	"kvlab/metrics"
)

// enter tells the servers that the clients are in a phase.
func (c *Controller) enter(phase metrics.Phase) {
	if phase == c.phase || order[phase] < order[c.phase] {
		return
	}
	c.phase, c.entered = phase, time.Now()
	if phase == metrics.Window {
		c.judgeExtension()
	}
	c.send(metrics.Server, node.Command{Do: node.Phase, Phase: phase})
}

// order is the order of phases.
var order = map[metrics.Phase]int{metrics.Idle: 0, metrics.Load: 1, metrics.WarmUp: 2, metrics.Window: 3, metrics.Drain: 4, metrics.Done: 5}

// commonPhase is the phase that all clients are in: the earliest of theirs, so
// that what a server measures in the window lies in every client's window; and
// the drain as soon as the first of them drains.
func commonPhase(clients []*process) metrics.Phase {
	first, last := metrics.Done, metrics.Idle
	for _, m := range clients {
		if order[m.phase] < order[first] {
			first = m.phase
		}
		if order[m.phase] > order[last] {
			last = m.phase
		}
	}
	if order[last] >= order[metrics.Drain] {
		return metrics.Drain
	}
	return first
}

// collectEvery is after how long the nodes collect their garbage in a soak, also
// when they would not yet: a hundred times in its window, as what they hold is
// known after a collection only, and not more than each second, for it costs the
// servers time; in a run that is no soak, 0: never. After two minutes the Go runtime
// does it by itself.
func (c *Controller) collectEvery() time.Duration {
	if c.soak == 0 {
		return 0
	}
	return min(max(c.soak/100, time.Second), 2*time.Minute)
}
