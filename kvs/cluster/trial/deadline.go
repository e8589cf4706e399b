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

// WithDeadline returns ctx with a trial's deadline; 0 sets none.
func WithDeadline(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	if after == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, after, fmt.Errorf("deadline of %s reached", after))
}

// Cut returns the error of a trial whose context ended before a node was started: an
// interrupt by the user, or the deadline.
func Cut(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return plan.ErrInterrupted
	}
	return fmt.Errorf("%w while the nodes were prepared", context.Cause(ctx))
}

// cut returns Cut during a wait for late.
func (c *Controller) cut(ctx context.Context, late *process, want stage) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return plan.ErrInterrupted
	}
	return late.fault(plan.Hang, "%v in phase %s: was not %s yet", context.Cause(ctx), c.phase, stageNames[want])
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
	c.handleUntil(dumpLimit, nil, func(*plan.Fault) bool {
		return !slices.ContainsFunc(asked, func(m *process) bool { return !answered(m) && !hangs(m) })
	})
	mute := slices.DeleteFunc(asked, answered)
	for _, m := range mute {
		m.unresponsive = true
		if c.Plan.Local {
			m.cmd.Signal(syscall.SIGQUIT)
		}
	}
	if !c.Plan.Local {
		c.signal(mute, syscall.SIGQUIT)
	}
	c.handleUntil(dumpLimit, nil, func(*plan.Fault) bool {
		return !slices.ContainsFunc(mute, func(m *process) bool { return m.stage != left && m.lost == nil })
	})
}

// handleUntil processes messages until enough returns true, and reports whether it did:
// the limit may be over first, or force closes. enough gets the fault that the last
// message reports, nil for none.
func (c *Controller) handleUntil(limit time.Duration, force <-chan struct{}, enough func(*plan.Fault) bool) bool {
	over := time.NewTimer(limit)
	defer over.Stop()
	for done := enough(nil); !done; {
		select {
		case msg := <-c.inbox:
			done = enough(c.handle(msg))
		case <-over.C:
			return false
		case <-force:
			return false
		}
	}
	return true
}
