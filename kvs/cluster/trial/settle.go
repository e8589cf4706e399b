package trial

import (
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/account"
	"kvlab/metrics/stats"
)

// settle records that a client's warm-up is about to end, or, without a warm-up, that half of
// its window is over. When all clients have said so, settle decides whether the warm-up is
// extended, and how long the window is. A client whose operations end the run says so when it
// has its last reply: round is then the time until this, and the longest one is the window.
func (c *Controller) settle(m *process, round time.Duration) *plan.Fault {
	if m.Role != metrics.Client || m.phase != metrics.WarmUp && m.phase != metrics.Window || m.warm {
		return m.fault(plan.Complaint, "sent %q out of turn", node.Warm)
	}
	m.warm, m.round = true, round
	for _, m := range c.of(metrics.Client) {
		if !m.warm {
			return nil
		}
	}
	if c.counted() {
		c.opening = opening{c.begin, c.slowest().round}
		c.window = &metrics.WindowLength{AskedS: max(m.settings().Secs(), 0).Seconds(), Batch: c.batchNow()}
		c.tell()
		return nil
	}
	test, ok := c.test(m.unsettled())
	c.extended = ok && !test.Stationary && c.Barrier == nil // the windows of a pair must coincide
	if f := c.fitWindow(); f != nil {
		return f
	}
	// The window opens at the end of the warm-up or its extension, but not before the
	// command can reach every client: at one time on one clock.
	warmUp := m.settings().WarmUp()
	c.opening.at = c.begin.Add(max(warmUp, 0))
	switch late := time.Since(c.opening.at.Add(-lead)); {
	case warmUp == 0: // it is open: its end, with the slots before it, is not before the command
		c.opening.length = max(c.opening.length, late+metrics.EdgeSlots*metrics.EdgeSlot(c.leastWindow()))
	case late > 0:
		c.opening.at = c.opening.at.Add(late)
	}
	if c.extended {
		c.opening.at = c.opening.at.Add(warmUp)
	}
	if c.Barrier != nil {
		other := c.Barrier.arrive(c.opening)
		go func() { c.inbox <- message{pair: new(<-other)} }()
		return nil
	}
	c.tell()
	return nil
}

// warmUpLength returns the length of the warm-up by the flags, with its extension.
func (c *Controller) warmUpLength() time.Duration {
	length := max(c.of(metrics.Client)[0].settings().WarmUp(), 0)
	if c.extended {
		length *= 2
	}
	return length
}

// sendAt sends all clients a command with a time.
func (c *Controller) sendAt(moment time.Time, command node.Command) {
	command.At = c.runTime(moment)
	c.send(metrics.Client, command)
}

// runTime converts a time of this process to that of the nodes' records.
func (c *Controller) runTime(moment time.Time) time.Time {
	return c.began.Round(0).Add(moment.Sub(c.began))
}

// unsettled returns the number of seconds of a client's warm-up that cannot be steady.
// The first second has the start of the workers and cold caches. With a -rate in per
// cent, the first half is a closed loop that measures the peak.
func (m *process) unsettled() int {
	s := m.settings()
	if !s.MeasuresPeak() {
		return 1
	}
	return 1 + int((max(s.WarmUp(), 0) / 2).Seconds())
}

// test tests the rates of the warm-up so far, without the first seconds.
func (c *Controller) test(from int) (stats.Stationarity, bool) {
	clients := c.of(metrics.Client)
	rates := account.WarmUpRates(reportsOf(clients))
	c.settled = len(rates)
	from = min(from, c.settled)
	clients[0].arrive(c.runTime(time.Now()), metrics.Arrival{Event: metrics.Tested, From: from, To: c.settled})
	return stats.CheckStationary(rates[from:])
}
