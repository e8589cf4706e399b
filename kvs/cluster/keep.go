package cluster

import (
	"fmt"
	"io"
	"strings"
	"syscall"

	"kvlab/kvs/control"
)

// keep leaves the members that still run to themselves, for the user to look at.
// One that does not answer is not kept.
func (c *conductor) keep() {
	var asked []*member
	for _, m := range c.running() {
		m.send(control.Command{Do: control.Keep})
		asked = append(asked, m)
	}
	c.hearUntil(c.limits.leave, func() bool {
		for _, m := range asked {
			if m.kept == "" && m.stage != left {
				return false
			}
		}
		return true
	})
	for _, m := range asked {
		if m.kept != "" && !c.plan.Local {
			m.signal(syscall.SIGKILL) // only the way there: nothing comes by it any more
		}
	}
}

// explainKept says where the kept nodes are and how they are ended.
func (c *conductor) explainKept(w io.Writer, cfg Config) {
	n := 0
	for _, m := range c.members {
		if m.kept != "" && m.config != nil {
			n++
			fmt.Fprintf(w, "kept %s %s %s: process %d, log %s\n", m.Program(), m.Name, m.Way, m.config.Process.PID, m.kept)
		}
	}
	if n > 0 {
		fmt.Fprintf(w, "end them with: ./run-cluster.sh --reap%s\n", cfg.nodeWords())
	}
}

// nodeWords are the flags that name the run's nodes, as they may be typed again.
func (c Config) nodeWords() string {
	var b strings.Builder
	for _, flag := range [][2]string{{"nodes", strings.Join(c.Nodes, ",")}, {"hosts", c.HostsFile}, {"ssh-config", c.SSHConfig}} {
		if flag[1] != "" {
			fmt.Fprintf(&b, " --%s %s", flag[0], quoteWord(flag[1]))
		}
	}
	if c.Local {
		b.WriteString(" --local")
	}
	return b.String()
}
