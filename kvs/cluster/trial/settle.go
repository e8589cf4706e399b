package trial

import (
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/stats"
)

// shortestSecond is the length in seconds from which an interval counts as one
// of the warm-up's: what a phase's end cuts off may be next to nothing.
const shortestSecond = 0.5

// settle hears that a client's warm-up is about to end. When it is so for all, it
// decides for all of them whether they have settled, or warm up once more.
func (c *Controller) settle(m *process) *plan.Fault {
	if m.Role != metrics.Client || m.phase != metrics.WarmUp || m.warm {
		return m.fault(plan.Complaint, "sent %q out of turn", node.Warm)
	}
	m.warm = true
	for _, m := range c.of(metrics.Client) {
		if !m.warm {
			return nil
		}
	}
	rates := c.warmUpRates()
	if test, ok := stats.CheckStationary(rates[min(m.unsettled(), len(rates)):]); ok {
		c.warmUp = &test
		c.extended = !test.Stationary && c.barrier == nil // two windows are to stay one stretch of time
	}
	c.settled = len(rates)
	c.tellAt(c.opens(time.Now()), node.Command{Do: node.Settle, Extend: c.extended})
	return nil
}

// opens is when the window opens: at the end of the warm-up, or of the second
// one, but not before every client can have heard of it. Measured by one clock, it
// is the same for all of them, however slowly the news travels.
func (c *Controller) opens(now time.Time) time.Time {
	warmUp := max(c.of(metrics.Client)[0].settings().WarmUp, 0)
	opens := c.begin.Add(warmUp)
	if soonest := now.Add(c.timeouts.Lead); opens.Before(soonest) {
		opens = soonest
	}
	if c.extended {
		opens = opens.Add(warmUp)
	}
	return opens
}

// tellAt gives all clients a command that is for a moment.
func (c *Controller) tellAt(moment time.Time, command node.Command) {
	command.At = c.began.Round(0).Add(moment.Sub(c.began))
	c.send(metrics.Client, command)
}

// unsettled is how many seconds of a client's warm-up cannot be steady: the first
// has the start of the workers in it, and cold caches; with a -rate in per cent,
// the first half is a closed loop that looks for the peak.
func (m *process) unsettled() int {
	s := m.settings()
	if s.WarmUp < 0 || !s.RateIsShare {
		return 1
	}
	return 1 + int((s.WarmUp / 2).Seconds())
}

// judgeExtension tests the second half of a warm-up that was extended, at its
// end. That it was, stays on record.
func (c *Controller) judgeExtension() {
	if !c.extended {
		return
	}
	if test, ok := stats.CheckStationary(c.warmUpRates()[c.settled:]); ok {
		c.warmUp = &test
	}
	c.warmUp.Extended = true
}

// warmUpRates are the operations per second of all clients together in each
// second of the warm-up that every client has reported.
func (c *Controller) warmUpRates() []float64 {
	var sum []float64
	for i, m := range c.of(metrics.Client) {
		if i == 0 {
			sum = append(sum, m.warming...)
			continue
		}
		sum = sum[:min(len(sum), len(m.warming))]
		for second := range sum {
			sum[second] += m.warming[second]
		}
	}
	return sum
}
