package trial

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

// deadlineError is the cause of a context that --deadline has ended.
type deadlineError struct{ after time.Duration }

func (e deadlineError) Error() string { return fmt.Sprintf("deadline of %s reached", e.after) }

// WithDeadline is ctx with a trial's deadline, 0 for none.
func WithDeadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	if after == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, after, deadlineError{after})
}

// Cut is the end of a trial whose context has ended before a node was started: the
// user's doing, or that of the deadline.
func Cut(ctx context.Context) error {
	var deadline deadlineError
	if !errors.As(context.Cause(ctx), &deadline) {
		return plan.ErrInterrupted
	}
	return &plan.Fault{Reason: deadline.Error() + " while the nodes were prepared"}
}

// cut is Cut while late is waited for.
func (c *Controller) cut(ctx context.Context, late *process, want stage) error {
	var deadline deadlineError
	if !errors.As(context.Cause(ctx), &deadline) {
		return plan.ErrInterrupted
	}
	return late.fault(plan.Hang, "%v in phase %s: was not %s yet", deadline, c.phase, stageNames[want])
}

// dump is for a run that has come to a standstill: it has every running node log
// its goroutines' stacks, so that who reads the logs sees what was waited for. A
// node that does not answer gets SIGQUIT, which the Go runtime answers in the
// same way before it ends the process; for one that is known to hang nobody waits.
func (c *Controller) dump() {
	now := time.Now()
	var asked, silent []*process
	for _, m := range c.running() {
		m.dumped = false
		m.send(node.Command{Do: node.Dump})
		asked = append(asked, m)
		if m.unresponsive || now.Sub(m.heard) > c.timeouts.Silence/4 {
			silent = append(silent, m)
		}
	}
	answered := func(m *process) bool { return m.dumped || m.stage == left }
	c.hearUntil(c.timeouts.Dump, func() bool {
		for _, m := range asked {
			if !answered(m) && !slices.Contains(silent, m) {
				return false
			}
		}
		return true
	})
	var mute []*process
	for _, m := range asked {
		if !answered(m) {
			m.unresponsive = true
			mute = append(mute, m)
		}
	}
	c.quit(mute)
	c.hearUntil(c.timeouts.Grace, func() bool {
		for _, m := range mute {
			if m.stage != left && m.lost == nil {
				return false
			}
		}
		return true
	})
}

// quit sends SIGQUIT to members that do not answer.
func (c *Controller) quit(mute []*process) {
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
func (c *Controller) hearUntil(limit time.Duration, enough func() bool) {
	patience := time.NewTimer(limit)
	defer patience.Stop()
	for !enough() {
		select {
		case msg := <-c.inbox:
			c.handle(msg)
		case <-patience.C:
			return
		}
	}
}
