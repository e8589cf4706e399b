package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/kvs/node"
)

// errDeadline is the cause of a context that --deadline has ended.
var errDeadline = errors.New("the deadline is reached")

// withDeadline is ctx with the trial's deadline, 0 for none.
func (c *conductor) withDeadline(ctx context.Context, deadline time.Duration) (context.Context, context.CancelFunc) {
	if deadline == 0 {
		return context.WithCancel(ctx)
	}
	c.deadline, c.ends = deadline, time.Now().Add(deadline)
	return context.WithDeadlineCause(ctx, c.ends, errDeadline)
}

// cut is the end of a run whose context has ended: the user's doing, or that of
// the deadline, for which late is a member that is waited for, nil when no node
// has been started.
func (c *conductor) cut(ctx context.Context, late *member, want stage) error {
	switch {
	case !errors.Is(context.Cause(ctx), errDeadline):
		return plan.ErrInterrupted
	case late == nil:
		return &plan.Fault{Reason: fmt.Sprintf("deadline of %s reached while the nodes were prepared", c.deadline)}
	}
	return late.fault(plan.Hang, "deadline of %s reached in phase %s: was not %s yet", c.deadline, c.phase, stageNames[want])
}

// dump is for a run that has come to a standstill: it has every running node log
// its goroutines' stacks, so that who reads the logs sees what was waited for. A
// node that does not answer gets SIGQUIT, which the Go runtime answers in the
// same way before it ends the process; for one that is known to hang nobody waits.
func (c *conductor) dump() {
	now := time.Now()
	var asked, silent []*member
	for _, m := range c.running() {
		m.dumped = false
		m.send(node.Command{Do: node.Dump})
		asked = append(asked, m)
		if m.hung || now.Sub(m.heard) > c.limits.silence/4 {
			silent = append(silent, m)
		}
	}
	answered := func(m *member) bool { return m.dumped || m.stage == left }
	c.hearUntil(c.limits.dump, func() bool {
		for _, m := range asked {
			if !answered(m) && !slices.Contains(silent, m) {
				return false
			}
		}
		return true
	})
	var mute []*member
	for _, m := range asked {
		if !answered(m) {
			m.hung = true
			mute = append(mute, m)
		}
	}
	c.quit(mute)
	c.hearUntil(c.limits.grace, func() bool {
		for _, m := range mute {
			if m.stage != left && m.lost == nil {
				return false
			}
		}
		return true
	})
}

// quit sends SIGQUIT to members that do not answer.
func (c *conductor) quit(mute []*member) {
	if !c.plan.Local {
		c.signal(mute, syscall.SIGQUIT)
		return
	}
	for _, m := range mute {
		m.signal(syscall.SIGQUIT)
	}
}

// hearUntil takes messages in until enough says so, or the time is over. What
// they complain about is no news any more.
func (c *conductor) hearUntil(limit time.Duration, enough func() bool) {
	patience := time.NewTimer(limit)
	defer patience.Stop()
	for !enough() {
		select {
		case msg := <-c.inbox:
			c.hear(msg)
		case <-patience.C:
			return
		}
	}
}
