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
	due    *time.Timer // ends when the kill is due; nil before the window
	over   bool        // the trial ends: nothing is killed or started any more
	first  *process    // nil until it is killed
	second *process    // nil until the first one has ended
}

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
	c.restart.first = m
	m.arrive(c.runTime(time.Now()), metrics.Arrival{Event: metrics.Killed})
	id := m.Config.Process
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), c.Timeouts.Exit)
		defer cancel()
		if err := c.Runner.Signal(ctx, m.Place, id, syscall.SIGKILL); err != nil {
			c.inbox <- message{from: m, err: fmt.Errorf("--restart-at: %w", err)}
		}
	}()
}

// expects reports whether a process ended because restart killed it.
func (r *restart) expects(m *process) bool {
	return r != nil && r.first == m && r.second == nil && !m.failed && !r.over
}

// revive starts the second process in place of a killed one, with the same arguments, port and
// folder.
func (c *Controller) revive(m *process) *plan.Fault {
	m.stage = left
	m.stdin.Close()
	if err := m.log.line(fmt.Sprintf("--restart-at %s: process %d was killed; what follows is of the one that takes its place", c.Plan.RestartAt, m.Config.Process.PID)); err != nil {
		return m.complaint(err)
	}
	second := &process{Place: m.Place, log: m.log, way: m.way, phase: m.phase, Reported: m.Reported}
	second.Restart()
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
