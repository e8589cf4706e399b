package cluster

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stop ends every process that still runs: a node whose standard input closes
// leaves by itself, and is killed if it has not done so after a while: a short one
// if it hangs.
func (c *conductor) stop() error {
	for _, m := range c.running() {
		m.stdin.Close()
	}
	patience := time.NewTimer(c.limits.leave)
	if len(c.hanging()) > 0 {
		patience.Reset(c.limits.grace)
	}
	defer patience.Stop()
	force, killed := c.force, false
	for len(c.running()) > 0 {
		select {
		case msg := <-c.inbox:
			c.hear(msg)
			continue
		case <-patience.C:
			if hanging := c.hanging(); len(hanging) > 0 && !killed {
				for _, m := range hanging {
					m.signal(syscall.SIGKILL)
					m.hung = false
				}
				patience.Reset(c.limits.leave)
				continue
			}
			if killed {
				return fmt.Errorf("cannot end %s", c.pids())
			}
		case <-force:
			force = nil
		}
		killed = true
		for _, m := range c.running() {
			m.signal(syscall.SIGKILL)
		}
		patience.Reset(c.limits.exit)
	}
	return nil
}

// hanging returns those of them that hang.
func (c *conductor) hanging() []*member {
	return slices.DeleteFunc(c.running(), func(m *member) bool { return !m.hung })
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
