package trial

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/cluster/remote"
)

// stop ends every running process. A node exits when its standard input closes. stop
// kills a node that does not exit in time, and at once one that is known to hang.
func (c *Controller) stop() error {
	if c.restart != nil {
		c.restart.end()
	}
	for _, m := range c.running() {
		m.stdin.Close()
		if m.unresponsive {
			m.kill()
		}
	}
	ended := func(*plan.Fault) bool { return len(c.running()) == 0 }
	if !c.handleUntil(c.Timeouts.Leave, c.Force, ended) {
		for _, m := range c.running() {
			m.kill()
		}
		if !c.handleUntil(c.Timeouts.Exit, nil, ended) {
			var errs []error
			for _, m := range c.running() {
				errs = append(errs, m.fault(plan.Hang, "process %d cannot be killed", m.cmd.Pid()))
			}
			return errors.Join(errs...)
		}
	}
	return c.endOrphans()
}

// endOrphans ends the programs on other machines that may have outlived their
// connection. A program without its launcher exits when its lease ends, but a stopped one
// (SIGSTOP) does not.
func (c *Controller) endOrphans() error {
	orphans := c.those(func(m *process) bool { return m.orphan })
	c.signal(orphans, syscall.SIGKILL)
	var errs []error
	for _, m := range orphans {
		if m.lost != nil {
			errs = append(errs, fmt.Errorf("%s: process %d may still be there: %w; it leaves by itself after %s without a launcher (--reap makes sure)", m.Name, m.id().PID, m.lost, c.Timeouts.Alone))
		}
	}
	return errors.Join(errs...)
}

// signal sends a signal to the processes' programs on all reachable nodes.
func (c *Controller) signal(processes []*process, signal syscall.Signal) {
	remote.Each(len(processes), remote.Parallel, func(i int) {
		m := processes[i]
		id := m.id()
		if m.lost != nil || id == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), reachLimit)
		defer cancel()
		m.lost = c.Runner.Signal(ctx, m.Place, *id, signal)
	})
}

// running returns the processes that have not ended.
func (c *Controller) running() []*process {
	return c.those(func(m *process) bool { return m.cmd != nil && m.stage != left })
}
