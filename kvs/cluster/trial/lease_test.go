package trial

import (
	"context"
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
	"kvlab/metrics/account"
)

// A lease covers what the node may still have to do by the launcher's own
// limits, and silence counts only across a network.
func TestLeases(t *testing.T) {
	limits := DefaultTimeouts()
	client := &process{Place: plan.Place{Role: metrics.Client}, Reported: account.Reported{Config: &metrics.Config{Flags: map[string]string{"warmup": "5", "secs": "30s"}}}}
	c := &Controller{Setup: Setup{Plan: plan.Plan{Local: true}, Timeouts: limits}, processes: []*process{client}}
	start, work := c.lease(2*connectLimit+loadLimit), c.lease(c.workLimit())
	if least := (2*connectLimit + loadLimit).Seconds(); start.LifetimeS <= least || start.LifetimeS > least+120 || start.SilenceS != 0 {
		t.Errorf("lease at the start %+v, want little more than %v s", start, least)
	}
	if least := (10*time.Second + metrics.LongestWindow + drainLimit + reportLimit).Seconds(); work.LifetimeS <= least || work.LifetimeS > least+120 {
		t.Errorf("lease for the work %+v, want little more than %v s", work, least)
	}
	client.Config = nil // a client that states no length
	c.Plan.Local = false
	if lease := c.lease(c.workLimit()); lease.LifetimeS != 0 || lease.SilenceS != limits.Alone.Seconds() {
		t.Errorf("lease %+v, want no end and a silence of %v", lease, limits.Alone)
	}
	if limits.Alone < 3*tickEvery {
		t.Errorf("a node gives up after %v, and the launcher speaks each %v", limits.Alone, tickEvery)
	}
}

// A launcher that was stopped for a while does not take the nodes for silent.
func TestOwnStop(t *testing.T) {
	before := time.Now()
	m := &process{heard: before}
	c := &Controller{Setup: Setup{Timeouts: DefaultTimeouts()}, processes: []*process{m, {}}, ticked: before}
	later := before.Add(time.Hour)
	if stop := c.stopped(later); stop != time.Hour || silent(c.processes, later, c.Timeouts.Silence) != nil || !c.processes[1].heard.IsZero() {
		t.Errorf("stopped for %v; silent %v", stop, silent(c.processes, later, c.Timeouts.Silence))
	}
	after := later
	for range c.Timeouts.Silence/tickEvery + 1 {
		after = after.Add(tickEvery)
		if stop := c.stopped(after); stop != 0 {
			t.Errorf("a tick is taken for a stop of %v", stop)
		}
	}
	if silent(c.processes, after, c.Timeouts.Silence) != m {
		t.Error("a node that sends nothing after the stop is not silent")
	}
}

// No node gets a longer life than the deadline leaves it.
func TestDeadlineShortensLeases(t *testing.T) {
	c := &Controller{Setup: Setup{Plan: plan.Plan{Local: true}, Timeouts: DefaultTimeouts()}}
	ctx, cancel := WithDeadline(context.Background(), time.Minute)
	defer cancel()
	c.ends, _ = ctx.Deadline()
	if lease := c.lease(loadLimit); lease.LifetimeS > (time.Minute+reportLimit+c.Timeouts.Exit).Seconds() || ctx.Err() != nil {
		t.Errorf("lease %+v", lease)
	}
}
