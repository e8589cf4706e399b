package cluster

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

// stop ends every process that still runs: a node whose standard input closes
// leaves by itself, and is killed if it has not done so after a while, at once
// if it is known to hang.
func (c *conductor) stop() error {
	for _, m := range c.running() {
		m.stdin.Close()
		if m.hung {
			m.kill()
		}
	}
	patience := time.NewTimer(c.limits.leave)
	defer patience.Stop()
	force, killed := c.force, false
	for len(c.running()) > 0 {
		select {
		case msg := <-c.inbox:
			c.hear(msg)
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
		patience.Reset(c.limits.exit)
	}
	return c.endStrays()
}

// endStrays ends the programs on other machines that may have outlived their
// connection, and removes the pid files of all that could not do so. One that
// hears nothing leaves by itself, but one that is stopped hears nothing of that
// either.
func (c *conductor) endStrays() error {
	var strays []*member
	for _, m := range c.members {
		if m.stray && m.config != nil {
			strays = append(strays, m)
		}
	}
	c.signal(strays, syscall.SIGKILL)
	var errs []error
	for _, m := range strays {
		if m.lost != nil {
			errs = append(errs, fmt.Errorf("%s: process %d may still be there: %w; it leaves by itself after %s without a launcher (--reap makes sure)", m.Name, m.config.Process.PID, m.lost, c.limits.alone))
		}
	}
	return errors.Join(errs...)
}

// signal sends a signal to the members' programs themselves, as far as their
// nodes can be reached.
func (c *conductor) signal(members []*member, signal syscall.Signal) {
	var group errgroup.Group
	group.SetLimit(remote.Parallel)
	for _, m := range members {
		if m.lost != nil || m.config == nil || m.config.Process == (metrics.ProcessID{}) {
			continue
		}
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), c.limits.reach)
			defer cancel()
			m.lost = c.backend.Signal(ctx, m.Place, m.config.Process, signal)
			return nil
		})
	}
	_ = group.Wait() // what went wrong is each member's own
}

// running returns the members whose process has not ended.
func (c *conductor) running() []*member {
	var running []*member
	for _, m := range c.members {
		if m.cmd != nil && m.stage != left {
			running = append(running, m)
		}
	}
	return running
}

// pids names the processes that still run.
func (c *conductor) pids() string {
	var names []string
	for _, m := range c.running() {
		names = append(names, fmt.Sprintf("%s (process %d)", m.Name, m.cmd.Process.Pid))
	}
	return strings.Join(names, ", ")
}
