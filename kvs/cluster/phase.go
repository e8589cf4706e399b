package cluster

import (
	"time"

	"kvlab/kvs/node"
	"kvlab/metrics"
)

// enter tells the servers that the clients are in a phase.
func (c *conductor) enter(phase metrics.Phase) {
	if phase == c.phase || order[phase] < order[c.phase] {
		return
	}
	c.phase, c.entered = phase, time.Now()
	if phase == metrics.Window {
		c.judgeExtension()
	}
	c.tell(metrics.Server, node.Command{Do: node.Phase, Phase: phase})
}

// order is the order of phases.
var order = map[metrics.Phase]int{metrics.Idle: 0, metrics.Load: 1, metrics.WarmUp: 2, metrics.Window: 3, metrics.Drain: 4, metrics.Done: 5}

// commonPhase is the phase that all clients are in: the earliest of theirs, so
// that what a server measures in the window lies in every client's window; and
// the drain as soon as the first of them drains.
func commonPhase(clients []*member) metrics.Phase {
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
