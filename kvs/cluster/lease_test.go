package cluster

import (
	"testing"
	"time"

	"kvlab/kvs/cluster/plan"
	"kvlab/metrics"
)

// A lease covers what the node may still have to do by the launcher's own
// limits, and silence counts only across a network.
func TestLeases(t *testing.T) {
	limits := defaultLimits()
	client := &member{Place: plan.Place{Role: metrics.Client}, config: &metrics.Config{Flags: map[string]string{"warmup": "5", "secs": "30s"}}}
	c := &conductor{plan: plan.Plan{Local: true}, limits: limits, members: []*member{client}}
	start, work := c.startLease(), c.workLease()
	if least := (2*limits.connect + limits.load).Seconds(); start.LifetimeS <= least || start.LifetimeS > least+120 || start.SilenceS != 0 {
		t.Errorf("lease at the start %+v, want little more than %v s", start, least)
	}
	if least := (35*time.Second + limits.work + limits.report).Seconds(); work.LifetimeS <= least || work.LifetimeS > least+120 {
		t.Errorf("lease for the work %+v, want little more than %v s", work, least)
	}
	client.config = nil // a client that states no length
	c.plan.Local = false
	if lease := c.workLease(); lease.LifetimeS != 0 || lease.SilenceS != limits.alone.Seconds() {
		t.Errorf("lease %+v, want no end and a silence of %v", lease, limits.alone)
	}
	if limits.alone < 3*limits.beat {
		t.Errorf("a node gives up after %v, and the launcher speaks each %v", limits.alone, limits.beat)
	}
}
