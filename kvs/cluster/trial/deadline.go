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

// deadlineError is the cause of a context that --deadline ended.
type deadlineError struct{ after time.Duration }

func (e deadlineError) Error() string { return fmt.Sprintf("deadline of %s reached", e.after) }

// WithDeadline returns ctx with a trial's deadline; 0 sets none.
func WithDeadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	if after == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, after, deadlineError{after})
}

// Cut returns the error of a trial whose context ended before a node was started: an
// interrupt by the user, or the deadline.
func Cut(ctx context.Context) error {
	var deadline deadlineError
	if !errors.As(context.Cause(ctx), &deadline) {
		return plan.ErrInterrupted
	}
	return &plan.Fault{Reason: deadline.Error() + " while the nodes were prepared"}
}

// cut is Cut during a wait for late.
func (c *Controller) cut(ctx context.Context, late *process, want stage) error {
	var deadline deadlineError
	if !errors.As(context.Cause(ctx), &deadline) {
		return plan.ErrInterrupted
	}
	return late.fault(plan.Hang, "%v in phase %s: was not %s yet", deadline, c.phase, stageNames[want])
}

// dump makes every running node log its goroutines' stacks, so that the logs show what
// a stalled run waits for. A node that does not answer gets SIGQUIT: the Go runtime then
// prints the stacks and ends the process. dump does not wait for a node that is known
// to hang.
func (c *Controller) dump() {
	now := time.Now()
	asked := c.running()
	for _, m := range asked {
		m.send(node.Command{Do: node.Dump})
	}
	answered := func(m *process) bool { return m.dumped || m.stage == left }
	hangs := func(m *process) bool { return m.unresponsive || now.Sub(m.heard) > c.Timeouts.Silence/4 }
	c.handleUntil(dumpLimit, func() bool {
		return !slices.ContainsFunc(asked, func(m *process) bool { return !answered(m) && !hangs(m) })
	})
	mute := slices.DeleteFunc(asked, answered)
	for _, m := range mute {
		m.unresponsive = true
		if c.Plan.Local {
			m.signal(syscall.SIGQUIT)
		}
	}
	if !c.Plan.Local {
		c.signal(mute, syscall.SIGQUIT)
	}
	c.handleUntil(c.Timeouts.Grace, func() bool {
		return !slices.ContainsFunc(mute, func(m *process) bool { return m.stage != left && m.lost == nil })
	})
}

// handleUntil processes messages until enough returns true or the limit is over. It
// ignores the faults that they report.
func (c *Controller) handleUntil(limit time.Duration, enough func() bool) {
	over := time.NewTimer(limit)
	defer over.Stop()
	for !enough() {
		select {
		case msg := <-c.inbox:
			c.handle(msg)
		case <-over.C:
			return
		}
	}
}
