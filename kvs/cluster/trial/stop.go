package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"kvlab/kvs/cluster/remote"
	"kvlab/metrics"
)

// stop ends every running process. A node exits when its standard input closes. stop
// kills a node that does not exit in time, and at once one that is known to hang.
func (c *Controller) stop() error {
	for _, m := range c.running() {
		m.stdin.Close()
		if m.unresponsive {
			m.kill()
		}
	}
	limit := time.NewTimer(c.Timeouts.Leave)
	defer limit.Stop()
	force, killed := c.Force, false
	for len(c.running()) > 0 {
		select {
		case msg := <-c.inbox:
			c.handle(msg)
			continue
		case <-limit.C:
			if killed {
				return fmt.Errorf("cannot end %s", c.pids())
			}
		case <-force:
			force = nil
		}
		killed = true
		for _, m := range c.running() {
			m.kill()
		}
		limit.Reset(c.Timeouts.Exit)
	}
	return c.endOrphans()
}

// endOrphans ends the programs on other machines that may have outlived their
// connection, and removes the pid files that programs left. A program without its
// launcher exits when its lease ends, but a stopped one (SIGSTOP) does not.
func (c *Controller) endOrphans() error {
	var orphans []*process
	for _, m := range c.processes {
		if m.orphan && m.config != nil {
			orphans = append(orphans, m)
		}
	}
	c.signal(orphans, syscall.SIGKILL)
	var errs []error
	for _, m := range orphans {
		if m.lost != nil {
			errs = append(errs, fmt.Errorf("%s: process %d may still be there: %w; it leaves by itself after %s without a launcher (--reap makes sure)", m.Name, m.config.Process.PID, m.lost, c.Timeouts.Alone))
		}
	}
	return errors.Join(errs...)
}

// signal sends a signal to the processes' programs on all reachable nodes.
func (c *Controller) signal(processes []*process, signal syscall.Signal) {
	remote.Each(len(processes), remote.Parallel, func(i int) {
		m := processes[i]
		if m.lost != nil || m.config == nil || m.config.Process == (metrics.ProcessID{}) {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), reachLimit)
		defer cancel()
		m.lost = c.Runner.Signal(ctx, m.Place, m.config.Process, signal)
	})
}

// running returns the processes that have not ended.
func (c *Controller) running() []*process {
	var running []*process
	for _, m := range c.processes {
		if m.cmd != nil && m.stage != left {
			running = append(running, m)
		}
	}
	return running
}

// pids lists the running processes.
func (c *Controller) pids() string {
	var names []string
	for _, m := range c.running() {
		names = append(names, fmt.Sprintf("%s (process %d)", m.Name, m.cmd.Process.Pid))
	}
	return strings.Join(names, ", ")
}
