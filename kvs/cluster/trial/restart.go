package trial

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
	"kvlab/metrics"
	"kvlab/metrics/clock"
)

// restart is the kill of the first server in the window, and the second process that takes
// its place (--restart-at).
type restart struct {
	server string      // its name
	due    *time.Timer // ends when the kill is due; nil before the window
	over   bool        // the trial ends: nothing is killed or started any more
	first  *process    // nil until it is killed
	second *process    // nil until the first one has ended
	killed time.Time
	ready  time.Time // the second process

	reported metrics.Counts   // by the first process
	upTo     time.Time        // when it reported last, in run time
	window   []metrics.Record // the clients' intervals of the window
}

// The clients may count an operation some time before or after the server reports it, beside
// the length of their intervals.
const (
	countedBefore = 100 * time.Millisecond // clocks differ
	countedAfter  = 500 * time.Millisecond // a client that waits for a processor reads its last replies late
)

// awaitKill begins to wait until the kill is due. It is called when the window opens.
func (c *Controller) awaitKill() {
	if c.restart != nil {
		c.restart.due = time.AfterFunc(c.Plan.RestartAt, func() { c.inbox <- message{} })
	}
}

// killServer kills the process of the first server, unless it has ended, which is a fault of
// its own.
func (c *Controller) killServer() {
	m := c.of(metrics.Server)[0]
	if m.stage != ready || c.restart.over {
		return
	}
	c.restart.first, c.restart.killed = m, time.Now()
	id := m.config.Process
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.Timeouts.Exit)
		defer cancel()
		if err := c.Runner.Signal(ctx, m.Place, id, syscall.SIGKILL); err != nil {
			c.inbox <- message{from: m, err: fmt.Errorf("--restart-at: %w", err)}
		}
	}()
}

// expects reports whether the end of a process is that of the kill.
func (r *restart) expects(m *process) bool {
	return r != nil && r.first == m && r.second == nil && !m.failed && !r.over
}

// revive starts the second process in the place of a killed one: with the same arguments, on
// the same port and folder.
func (c *Controller) revive(m *process) *plan.Fault {
	m.stage = left
	m.stdin.Close()
	if err := m.log.line(fmt.Sprintf("--restart-at %s: process %d was killed; what follows is of the one that takes its place", c.Plan.RestartAt, m.config.Process.PID)); err != nil {
		return m.complaint(err)
	}
	second := &process{Place: m.Place, log: m.log, way: m.way, phase: m.phase, rates: m.rates, seconds: m.seconds}
	c.processes[slices.Index(c.processes, m)], c.restart.second = second, second
	at := m.Place
	at.Listen = m.address
	args := append(c.Plan.Args(at, 0, nil), "-reopen")
	if f := c.launch(second, args, clock.New(), c.lease(c.workLimit()+auditLimit)); f != nil {
		return f
	}
	second.send(node.Command{Do: node.Phase, Phase: c.phase})
	return nil
}

// end ends the wait for the kill.
func (r *restart) end() {
	r.over = true
	if r.due != nil {
		r.due.Stop()
	}
}

// hear keeps what the record of a process says of the restart.
func (r *restart) hear(m *process, record metrics.Record) {
	switch {
	case record.Interval == nil:
	case m.Role == metrics.Server && m.Name == r.server && r.second == nil:
		r.reported, r.upTo = r.reported.Add(record.Interval.Counts), record.Time
	case m.Role == metrics.Client && record.Interval.Phase == metrics.Window:
		r.window = append(r.window, record)
	}
}

// restarted returns what the restart cost, of a run that the clients have ended; nil without
// one.
func (c *Controller) restarted() *metrics.Restart {
	r := c.restart
	if r == nil || r.ready.IsZero() {
		return nil
	}
	opens, closes, replied := time.Time{}, time.Time{}, time.Time{}
	found := &metrics.Restart{Server: r.server, ReadyS: r.ready.Sub(r.killed).Seconds(), Reported: r.reported}
	for _, m := range c.of(metrics.Client) {
		s := m.summary
		if s == nil {
			return nil
		}
		if end := s.WindowStart.Add(time.Duration(s.WindowLengthS * float64(time.Second))); closes.IsZero() || end.Before(closes) {
			closes = end
		}
		if s.WindowStart.After(opens) {
			opens = s.WindowStart
		}
		for _, peer := range s.Peers {
			found.UnknownOps += peer.Unknown.Ops()
			if at := peer.FirstReply; !at.IsZero() && (replied.IsZero() || at.Before(replied)) {
				replied = at
			}
		}
	}
	killed := c.runTime(r.killed)
	found.AtS = killed.Sub(opens).Seconds()
	if !replied.IsZero() {
		found.FirstReplyS = new(replied.Sub(killed).Seconds())
	}
	var spans []metrics.OpsSpan
	from, to := r.upTo.Add(-countedBefore), c.runTime(r.ready).Add(countedAfter)
	for _, record := range r.window {
		i := record.Interval
		begun := record.Time.Add(-time.Duration(i.LengthS * float64(time.Second)))
		spans = append(spans, metrics.OpsSpan{StartS: begun.Sub(opens).Seconds(), EndS: record.Time.Sub(opens).Seconds(), Ops: float64(i.Counts.Ops())})
		if record.Time.After(from) && begun.Before(to) {
			found.Unreported = found.Unreported.Add(i.Counts)
		}
	}
	found.Recover(spans, closes.Sub(opens).Seconds())
	return found
}
