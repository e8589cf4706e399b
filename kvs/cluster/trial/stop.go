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

	"golang.org/x/sync/errgroup"
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
	patience := time.NewTimer(c.timeouts.Leave)
	defer patience.Stop()
	force, killed := c.force, false
	for len(c.running()) > 0 {
		select {
		case msg := <-c.inbox:
			c.handle(msg)
			continue
		case <-patience.C:
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
		patience.Reset(c.timeouts.Exit)
	}
	return c.endOrphans()
}

// endOrphans ends the programs on other machines that may have outlived their
// connection, and removes the pid files that programs left. A program without its
// launcher exits when its lease ends, but a stopped one (SIGSTOP) does not.
func (c *Controller) endOrphans() error {
	var strays []*process
	for _, m := range c.processes {
		if m.orphan && m.config != nil {
			strays = append(strays, m)
		}
	}
	c.signal(strays, syscall.SIGKILL)
	var errs []error
	for _, m := range strays {
		if m.lost != nil {
			errs = append(errs, fmt.Errorf("%s: process %d may still be there: %w; it leaves by itself after %s without a launcher (--reap makes sure)", m.Name, m.config.Process.PID, m.lost, c.timeouts.Alone))
		}
	}
	return errors.Join(errs...)
}

// signal sends a signal to the processes' programs on all reachable nodes.
func (c *Controller) signal(members []*process, signal syscall.Signal) {
	var group errgroup.Group
	group.SetLimit(remote.Parallel)
	for _, m := range members {
		if m.lost != nil || m.config == nil || m.config.Process == (metrics.ProcessID{}) {
			continue
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), c.timeouts.Reach)
			defer cancel()
			m.lost = c.runner.Signal(ctx, m.Place, m.config.Process, signal)
			return nil
		})
	}
	_ = group.Wait() // each process keeps its error
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
